//! The two audiences of the server.

/// The callers that a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Integrators: the calls of [`kiosque_contract::ENDPOINTS`].
    Gateway,
    /// The operator: the calls of [`kiosque_contract::OPERATOR_CALLS`].
    Operator,
}
