//! Runs code of the user's, whose panics are answers.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use super::stop;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs code of the user's and turns a panic into its message; a sign to stop is none. The default hook stays silent meanwhile.
pub(crate) fn catching<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
                let text = payload_text(info.payload());
                MESSAGE.set(Some(format!("{text}{}", place.unwrap_or_default())));
            } else {
                before(info);
            }
        }));
    });
    let outer = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(code));
    CATCHING.set(outer);
    result
        .map_err(stop::let_through)
        .map_err(|payload| MESSAGE.take().unwrap_or_else(|| payload_text(&*payload)))
}

fn payload_text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_string())
}
