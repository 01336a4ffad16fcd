//! A fixed account and a fixed image in memory, so every process of `hoptax study image-registry` starts with the same state.

use hoptax_functions::REQUEST_PATH;
use hoptax_tasks::plans::{Plan, Rules};
use rusqlite::Result;
use serde_json::json;

use super::store::Store;

/// The prefix of the paths of images. The requests of a study have one path, which no other route of the application uses.
pub(crate) const IMAGES: &str = "/";
/// The key of the token that the functions `plan-limit/*` of the catalogue send.
const KEY: &str = "aG9wdGF4LXRlc3Qta2V5LW9mLTMyLWJ5dGVzLS0tLS0";
/// The header with that token.
const TOKEN_HEADER: &str = "x-hoptax-registry-token";
/// The content of the image, in the usual size of a response in studies.
const CONTENT: [u8; 64] = [b'x'; 64];

/// The rules for the token, with this number of pulls per minute for the plan of its account.
pub(crate) fn rules(enterprise: u32) -> std::result::Result<Rules, String> {
    let settings =
        json!({"key": KEY, "images": IMAGES, "token_header": TOKEN_HEADER, "enterprise": enterprise});
    Rules::read(&settings.to_string())
}

/// A storage with the account that the token names, and its image.
pub(crate) fn store() -> Result<Store> {
    let store = Store::in_memory()?;
    // No password matches this hash.
    if let Some(account) = store.add_account("sample", "")? {
        store.set_plan(account.id, Plan::Enterprise)?;
        store.push(account.id, REQUEST_PATH.trim_start_matches(IMAGES), &CONTENT)?;
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use hoptax_functions::{Catalogue, FunctionCall};

    use super::*;

    const NOW_S: u64 = 1_800_000_000;

    #[test]
    fn the_token_of_every_plan_limit_names_the_account() {
        let catalogue = Catalogue::load().unwrap();
        for place in ["application", "module", "native", "wasm"] {
            let call = FunctionCall::parse(&format!("plan-limit/{place}")).unwrap();
            let (function, _) = catalogue.resolve(&call).unwrap();
            let token = &function.request.headers[TOKEN_HEADER];
            let grant = rules(5).unwrap().grant(Some(token.as_bytes()), NOW_S).unwrap();
            let account = store().unwrap().account_with_password("sample").unwrap().unwrap().0;
            let expected = (account.id.unsigned_abs(), account.plan);
            assert_eq!((grant.account, grant.plan), expected, "{place}");
        }
        assert_eq!(rules(5).unwrap().limit(Plan::Enterprise), 5);
    }
}
