//! Why a command has no result, and the corresponding exit status.

use std::io;
use std::path::PathBuf;

use kiosque_client::Error;
use kiosque_contract::Code;

/// Why a command has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The server refused the call, or its list cannot be read completely.
    #[error("{0}")]
    Refused(Error),
    /// The command line, a profile or a local file is invalid.
    #[error("{0}")]
    Usage(String),
    /// There is no session, and none can be obtained.
    #[error("{message}")]
    NotAuthenticated {
        /// The cause, and the command that fixes it.
        message: String,
        /// Whether the server refused the password.
        is_password_refused: bool,
    },
    /// No answer of this interface arrived.
    #[error("{0}")]
    Transport(Error),
    /// The copy in the file cannot be read or written.
    #[error("the file of the copy: {0}")]
    Copy(#[from] rusqlite::Error),
    /// The copy in this file has other orders than the server.
    #[error("{} differs from the server; delete it, and run the command again", .0.display())]
    Differs(PathBuf),
    /// The output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

const PASSWORD_REFUSED: i32 = Code::Credentials.number();
const TOKEN_MISSING: i32 = Code::TokenMissing.number();
const TOKEN_INVALID: i32 = Code::TokenInvalid.number();

impl From<Error> for CommandError {
    fn from(error: Error) -> CommandError {
        if let Some(code @ (PASSWORD_REFUSED | TOKEN_MISSING | TOKEN_INVALID)) = error.code() {
            let is_password_refused = code == PASSWORD_REFUSED;
            return CommandError::NotAuthenticated {
                message: error.to_string(),
                is_password_refused,
            };
        }
        let mut last = &error;
        while let Error::GaveUp { last: inner, .. } = last {
            last = inner;
        }
        match last {
            Error::Transport(_) | Error::NotAnEnvelope(_) => CommandError::Transport(error),
            Error::NoPassword => CommandError::not_authenticated(
                "the session has ended, and the profile has no source of the password; run \
                 `kiosque remote login`"
                    .to_owned(),
            ),
            Error::Setup(message) => CommandError::Usage(message.clone()),
            _ => CommandError::Refused(error),
        }
    }
}

impl CommandError {
    /// Returns the exit status: 1 refused or different, 2 usage, 3 not authenticated, 4 transport.
    pub fn exit_status(&self) -> u8 {
        match self {
            CommandError::Refused(_) | CommandError::Differs(_) => 1,
            CommandError::Usage(_) | CommandError::Copy(_) | CommandError::Output(_) => 2,
            CommandError::NotAuthenticated { .. } => 3,
            CommandError::Transport(_) => 4,
        }
    }

    /// Returns whether the reader of the output, such as `head`, has closed it.
    pub fn is_closed_output(&self) -> bool {
        matches!(self, CommandError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn not_authenticated(message: String) -> CommandError {
        CommandError::NotAuthenticated { message, is_password_refused: false }
    }
}
