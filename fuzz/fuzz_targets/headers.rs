//! `third-api-token`, a line feed, `X-Locale`: a token has exactly one text, and only a requested
//! language is chosen.
#![no_main]

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kiosque_locale::Locale;
use kiosque_model::{
    AccountNo, Claim, GroupNo, PresentedToken, Session, SessionRow, Token, UnixMs,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    token(&data[..end]);
    if let Ok(text) = std::str::from_utf8(data.get(end + 1..).unwrap_or_default()) {
        locale(text);
    }
});

fn token(header: &[u8]) {
    let Some(presented) = PresentedToken::read(header) else {
        return;
    };
    let bytes: [u8; 48] =
        URL_SAFE_NO_PAD.decode(header).expect("base64url").try_into().expect("48 bytes");
    let number = |at: usize| i64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let random = bytes[16..].try_into().expect("32 bytes");
    let minted = Token::mint(AccountNo(number(0)), GroupNo(number(8)), random);
    assert_eq!(minted.reveal().as_bytes(), header, "two texts of one token");
    assert_eq!(presented.account_hint(), AccountNo(number(0)));
    assert_eq!(presented.digest(), &minted.digest());

    let digest = minted.digest();
    let row = SessionRow {
        account: presented.account_hint(),
        selected_group: GroupNo(1),
        token_digest: digest.as_str(),
        expires_at: UnixMs(1_000),
        is_open: true,
    };
    let claim = |now| Claim { token: presented.clone(), now: UnixMs(now) };
    assert!(Session::prove(&claim(999), &row).is_ok());
    assert!(Session::prove(&claim(1_000), &row).is_err());
    let mut altered = header.to_vec();
    altered[20] = if altered[20] == b'A' { b'B' } else { b'A' };
    let token = PresentedToken::read(&altered).expect("base64url all the same");
    assert!(Session::prove(&Claim { token, now: UnixMs(0) }, &row).is_err());
}

fn locale(header: &str) {
    let found = Locale::best_match(header);
    if let Some(locale) = found {
        let language = &locale.tag()[..2];
        assert!(header.to_ascii_lowercase().contains(language), "{locale:?} was not asked for");
        assert_eq!(Locale::best_match(locale.tag()), found);
        assert_eq!(locale.tag().parse().ok(), found);
    }
    // An unsupported language, and the case of letters, change nothing.
    assert_eq!(Locale::best_match(&format!("fr,{header}")), found);
    assert_eq!(Locale::best_match(&format!("{header},fr;q=1")), found);
    let tags_alone = !header.contains(';');
    if tags_alone {
        assert_eq!(Locale::best_match(&header.to_ascii_uppercase()), found);
    }
}
