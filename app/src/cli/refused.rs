use serde_json::json;

use super::{error::CliError, print};

/// Tells scripts that read `--json` why no run came to be: one line, as for any other event.
pub fn tell(json: bool, error: &CliError) {
    if !json {
        return;
    }
    let line = match error {
        CliError::BadInput(why) => json!({ "event": "refused", "why": why, "problems": [] }),
        CliError::Problems { message, problems } => {
            json!({ "event": "refused", "why": message, "problems": problems })
        }
        CliError::Failed(why) => json!({ "event": "failed", "why": why, "what_to_do": "" }),
        CliError::ReaderLeft => return,
    };
    // Standard error says it too.
    let _ = print::json_line(&line);
}
