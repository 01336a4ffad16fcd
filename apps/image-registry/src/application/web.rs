//! The HTTP interface, for users and their tools and for the data plane.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use hoptax_tasks::plans::{Admission, Grant, Plan, Refusal, TOKEN_LIFETIME_S, WINDOW_S};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::session::{self, Secret};
use super::store::Account;
use super::{Application, password};

/// The largest image, bytes.
const MAX_IMAGE_BYTES: usize = 1 << 20;
/// The longest name of an account or an image, characters.
const MAX_NAME_CHARS: usize = 64;
/// Shortest and longest password, bytes.
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 8..=256;

/// The page loads nothing from other sites, and no other site may frame it.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'";

/// The interface for clients.
pub(crate) fn clients(application: Arc<Application>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/signup", post(sign_up))
        .route("/login", post(log_in))
        .route("/logout", post(log_out))
        .route("/account", get(account))
        .route("/token", post(token))
        .route("/upgrade", post(upgrade))
        .route("/images", get(images))
        .route(&format!("{}{{name}}", application.images), get(pull).put(push))
        .layer(DefaultBodyLimit::max(MAX_IMAGE_BYTES))
        .with_state(application)
}

/// The interface for the data plane.
pub(crate) fn usage(application: Arc<Application>) -> Router {
    Router::new().route("/usage/{account}/{minute}", get(pulls)).with_state(application)
}

type Shared = State<Arc<Application>>;
type Answer<T> = Result<T, Failure>;

/// A response to a request that fails.
enum Failure {
    /// The client must change something.
    Client(StatusCode, String),
    /// The token or the plan does not permit it.
    Refused(Refusal),
    /// The application cannot do it.
    Application(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Application(format!("the storage fails: {error}"))
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let error = |status: StatusCode, text| (status, Json(json!({"error": text}))).into_response();
        match self {
            Self::Client(status, text) => error(status, text),
            Self::Application(text) => error(StatusCode::INTERNAL_SERVER_ERROR, text),
            Self::Refused(refusal) => {
                let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::FORBIDDEN);
                with_headers((status, refusal.body).into_response(), refusal.headers)
            }
        }
    }
}

fn client(status: StatusCode, text: &str) -> Failure {
    Failure::Client(status, text.to_owned())
}

fn with_headers(
    mut response: Response,
    headers: impl IntoIterator<Item = (&'static str, String)>,
) -> Response {
    let headers = headers.into_iter().filter_map(|(name, value)| {
        Some((HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?))
    });
    headers.for_each(|(name, value)| drop(response.headers_mut().insert(name, value)));
    response
}

/// The time, seconds since 1970.
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

async fn page() -> impl IntoResponse {
    ([(CONTENT_SECURITY_POLICY, PAGE_POLICY)], Html(include_str!("page.html")))
}

/// The name and the password that create an account or open a session.
#[derive(Deserialize)]
struct Credentials {
    name: String,
    password: String,
}

async fn sign_up(State(application): Shared, Json(given): Json<Credentials>) -> Answer<Response> {
    if !is_name(&given.name) {
        return Err(client(StatusCode::UNPROCESSABLE_ENTITY, NAME_RULE));
    }
    if !PASSWORD_BYTES.contains(&given.password.len()) {
        let (min, max) = PASSWORD_BYTES.into_inner();
        let text = format!("A password has {min} to {max} bytes: choose another one.");
        return Err(Failure::Client(StatusCode::UNPROCESSABLE_ENTITY, text));
    }
    let hash = hashed(move || password::hash(&given.password)).await?;
    let hash = hash.map_err(|error| Failure::Application(format!("cannot hash the password: {error}")))?;
    let added = application.store().add_account(&given.name, &hash)?;
    match added {
        Some(account) => session(&application, StatusCode::CREATED, &account),
        None => Err(client(StatusCode::CONFLICT, "The name is taken: choose another one.")),
    }
}

async fn log_in(State(application): Shared, Json(given): Json<Credentials>) -> Answer<Response> {
    let (account, hash) = application.store().account_with_password(&given.name)?.unzip();
    let is_right = hashed(move || password::is_right(&given.password, hash.as_deref())).await?;
    match account.filter(|_| is_right) {
        Some(account) => session(&application, StatusCode::OK, &account),
        None => Err(client(StatusCode::UNAUTHORIZED, "Name or password is wrong.")),
    }
}

/// Hashes on a separate thread, so other requests do not wait.
async fn hashed<T: Send + 'static>(hash: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
    let done = tokio::task::spawn_blocking(hash).await;
    done.map_err(|error| Failure::Application(format!("cannot hash the password: {error}")))
}

/// Opens a session.
fn session(application: &Application, status: StatusCode, account: &Account) -> Answer<Response> {
    let (secret, now_s) = (Secret::new(), now_s());
    let end_s = now_s + session::LIFETIME_S;
    application.store().add_session(&secret.hash(), account.id, now_s as i64, end_s as i64)?;
    let body = Json(json!({"name": account.name, "plan": account.plan.name()}));
    Ok((status, [(SET_COOKIE, secret.cookie())], body).into_response())
}

async fn log_out(State(application): Shared, headers: HeaderMap) -> Answer<Response> {
    if let Some(secret) = Secret::in_request(&headers) {
        application.store().end_session(&secret.hash())?;
    }
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, Secret::no_cookie())]).into_response())
}

/// The account whose session a request has.
fn logged_in(application: &Application, headers: &HeaderMap) -> Answer<Account> {
    let secret = Secret::in_request(headers);
    let account = match secret {
        Some(secret) => application.store().account_of(&secret.hash(), now_s() as i64)?,
        None => None,
    };
    account.ok_or_else(|| client(StatusCode::UNAUTHORIZED, "The session has ended: log in."))
}

#[derive(Serialize)]
struct AccountView {
    name: String,
    plan: &'static str,
    pulls_per_minute: u32,
    /// Pulls served in this minute.
    pulls: u32,
    /// Seconds until the next minute.
    reset_s: u64,
    /// The larger plans.
    upgrades: Vec<PlanView>,
}

#[derive(Serialize)]
struct PlanView {
    plan: &'static str,
    pulls_per_minute: u32,
}

async fn account(State(application): Shared, headers: HeaderMap) -> Answer<Json<AccountView>> {
    let account = logged_in(&application, &headers)?;
    let now_s = now_s();
    let pulls = application.store().pulls(account.id)?.at(now_s).pulls;
    let larger = Plan::ALL.into_iter().filter(|plan| *plan > account.plan);
    let view = |plan: Plan| PlanView { plan: plan.name(), pulls_per_minute: application.rules.limit(plan) };
    Ok(Json(AccountView {
        upgrades: larger.map(view).collect(),
        plan: account.plan.name(),
        pulls_per_minute: application.rules.limit(account.plan),
        name: account.name,
        pulls,
        reset_s: WINDOW_S - now_s % WINDOW_S,
    }))
}

#[derive(Serialize)]
struct TokenView {
    token: String,
    expires_in_s: u64,
}

async fn token(State(application): Shared, headers: HeaderMap) -> Answer<Json<TokenView>> {
    let account = logged_in(&application, &headers)?;
    Ok(Json(new_token(&application, &account)))
}

fn new_token(application: &Application, account: &Account) -> TokenView {
    let grant = Grant { account: account.id.unsigned_abs(), plan: account.plan };
    TokenView { token: application.rules.token(grant, now_s()), expires_in_s: TOKEN_LIFETIME_S }
}

#[derive(Deserialize)]
struct Upgrade {
    plan: String,
}

/// Upgrades at once, and returns a token with the new plan. The pulls of this minute count towards it.
async fn upgrade(
    State(application): Shared,
    headers: HeaderMap,
    Json(wanted): Json<Upgrade>,
) -> Answer<Json<TokenView>> {
    let account = logged_in(&application, &headers)?;
    let Some(plan) = Plan::read(&wanted.plan) else {
        let names = Plan::ALL.map(Plan::name).join(", ");
        let text = format!("There is no plan `{}`: choose one of {names}.", wanted.plan);
        return Err(Failure::Client(StatusCode::UNPROCESSABLE_ENTITY, text));
    };
    if plan <= account.plan {
        return Err(client(StatusCode::CONFLICT, "The account has this plan or a larger one already."));
    }
    application.store().set_plan(account.id, plan)?;
    Ok(Json(new_token(&application, &Account { plan, ..account })))
}

#[derive(Serialize)]
struct ImageView {
    name: String,
    bytes: i64,
}

async fn images(State(application): Shared) -> Answer<Json<Vec<ImageView>>> {
    let images = application.store().images()?;
    Ok(Json(images.into_iter().map(|(name, bytes)| ImageView { name, bytes }).collect()))
}

/// The grant in the token of a request. The data plane has already verified it, but the application needs the account and does not rely on
/// a proxy in front of it.
fn granted(application: &Application, headers: &HeaderMap) -> Answer<(Grant, i64)> {
    let header = headers.get(&application.rules.token_header).map(HeaderValue::as_bytes);
    let grant = application.rules.grant(header, now_s());
    let account = grant.and_then(|grant| Some((grant, i64::try_from(grant.account).ok()?)));
    account.ok_or_else(|| Failure::Refused(Refusal::unauthorized()))
}

/// Records the pull before it responds, so a new proxy can continue from the record.
async fn pull(State(application): Shared, Path(name): Path<String>, headers: HeaderMap) -> Answer<Response> {
    let (grant, account) = granted(&application, &headers)?;
    let limit = application.rules.limit(grant.plan);
    let store = application.store();
    let admission = if application.enforce {
        store.record(account, limit, now_s())?
    } else {
        // A pull that the data plane has admitted is recorded even beyond the plan.
        let recorded = store.record(account, u32::MAX, now_s())?;
        let pulls = recorded.limit - recorded.remaining;
        Admission { limit, remaining: limit.saturating_sub(pulls), ..recorded }
    };
    if let Some(refusal) = Refusal::for_pull(&admission) {
        return Err(Failure::Refused(refusal));
    }
    let response = match store.image(&name)? {
        Some(content) => ([(CONTENT_TYPE, "application/octet-stream")], content).into_response(),
        None => client(StatusCode::NOT_FOUND, "There is no image with this name.").into_response(),
    };
    Ok(with_headers(response, admission.headers()))
}

async fn push(
    State(application): Shared,
    Path(name): Path<String>,
    headers: HeaderMap,
    content: Bytes,
) -> Answer<StatusCode> {
    let (_, account) = granted(&application, &headers)?;
    if !is_name(&name) {
        return Err(client(StatusCode::UNPROCESSABLE_ENTITY, NAME_RULE));
    }
    if application.store().push(account, &name, &content)? {
        Ok(StatusCode::CREATED)
    } else {
        Err(client(StatusCode::FORBIDDEN, "The image belongs to another account: choose another name."))
    }
}

/// The pulls of an account in a minute, for a proxy that has no count for that account.
async fn pulls(State(application): Shared, Path((account, minute)): Path<(i64, u32)>) -> Answer<String> {
    let count = application.store().pulls(account)?;
    Ok(count.at(u64::from(minute) * WINDOW_S).pulls.to_string())
}

const NAME_RULE: &str =
    "A name has 1 to 64 characters of a to z, 0 to 9, . - _ and begins with a letter or a digit.";

/// True if a text is valid as the name of an account or an image.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_valid = |byte: u8| is_plain(byte) || matches!(byte, b'.' | b'-' | b'_');
    text.len() <= MAX_NAME_CHARS && text.bytes().next().is_some_and(is_plain) && text.bytes().all(is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        for name in ["a", "alpine-3.20", "0_"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "A", "a/b", "a b", "\u{e9}", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
