//! `apps/php`: one PHP process with curl per connection, without state between calls.

use super::known::Known;

pub(super) static PHP: Known = Known {
    name: "php",
    title: "callers in PHP",
    program: "php",
    arguments: &["{script}", "{url}", "{seconds}", "{processes}", "{authority}"],
    version: &[
        "-r",
        "echo 'PHP ', PHP_VERSION, ', curl ', function_exists('curl_version') ? curl_version()['version'] : 'missing';",
    ],
    extensions: &["-r", "exit(extension_loaded('curl') ? 0 : 1);"],
    script: ("caller.php", include_str!("../../../../apps/php/caller.php")),
    remedy: "install the packages php-cli and php-curl",
};
