//! One page: where it is, what it says, what is done to it.

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value as Json, json};

use crate::BrowserError;
use crate::pipe::Pipe;

/// What the system prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// Keys that tests press.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Key {
    Tab,
    Enter,
    Space,
    Home,
    End,
    Left,
    Right,
    Up,
    Down,
}

impl Key {
    /// Name, code, number, and the text it makes.
    fn parts(self) -> (&'static str, &'static str, u32, &'static str) {
        match self {
            Key::Tab => ("Tab", "Tab", 9, ""),
            Key::Enter => ("Enter", "Enter", 13, "\r"),
            Key::Space => (" ", "Space", 32, " "),
            Key::Home => ("Home", "Home", 36, ""),
            Key::End => ("End", "End", 35, ""),
            Key::Left => ("ArrowLeft", "ArrowLeft", 37, ""),
            Key::Up => ("ArrowUp", "ArrowUp", 38, ""),
            Key::Right => ("ArrowRight", "ArrowRight", 39, ""),
            Key::Down => ("ArrowDown", "ArrowDown", 40, ""),
        }
    }
}

/// What a page did that it should not do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Errors and warnings of the console, exceptions, breaches of its policy.
    pub complaints: Vec<String>,
    /// Addresses that were asked for, the page's own left out.
    pub requests: Vec<String>,
}

/// A page of the browser; it is closed when this is dropped.
#[derive(Debug)]
pub struct Page<'b> {
    pipe: &'b Pipe,
    session: String,
    target: String,
}

impl<'b> Page<'b> {
    pub(crate) fn new(pipe: &'b Pipe, session: String, target: String) -> Page<'b> {
        Page { pipe, session, target }
    }

    pub(crate) fn prepare(&self, width: u32, height: u32, scheme: Scheme) -> Result<(), BrowserError> {
        for domain in ["Page.enable", "Runtime.enable", "Network.enable", "Log.enable"] {
            self.ask(domain, json!({}))?;
        }
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size)?;
        let value = if scheme == Scheme::Dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": value}, {"name": "prefers-reduced-motion", "value": "reduce"}]});
        self.ask("Emulation.setEmulatedMedia", media)?;
        // Keys go to a page that has the focus.
        self.ask("Emulation.setFocusEmulationEnabled", json!({"enabled": true})).map(drop)
    }

    fn ask(&self, method: &str, params: Json) -> Result<Json, BrowserError> {
        self.pipe.ask(method, params, Some(&self.session))
    }

    /// Opens a file, and waits until it is loaded.
    ///
    /// # Errors
    /// Where the browser refuses, or it takes too long.
    pub fn open(&self, file: &Path) -> Result<(), BrowserError> {
        self.ask("Page.navigate", json!({"url": format!("file://{}", file.display())}))?;
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")
    }

    /// Waits until an expression is true.
    ///
    /// # Errors
    /// Where it is not for a long time.
    pub fn wait(&self, expression: &str) -> Result<(), BrowserError> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if self.value(&format!("!!({expression})")).is_ok_and(|value| value == json!(true)) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(BrowserError::Silent { method: format!("waiting for {expression}") })
    }

    /// The value of an expression; of what it resolves to, if it is a promise.
    ///
    /// # Errors
    /// Where it throws.
    pub fn value(&self, expression: &str) -> Result<Json, BrowserError> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let found = self.ask("Runtime.evaluate", params)?;
        match found.get("exceptionDetails") {
            Some(details) => Err(BrowserError::Script(details["exception"]["description"].to_string())),
            None => Ok(found["result"]["value"].clone()),
        }
    }

    /// The same as text.
    ///
    /// # Errors
    /// Where it throws.
    pub fn text(&self, expression: &str) -> Result<String, BrowserError> {
        Ok(self.value(&format!("String({expression})"))?.as_str().unwrap_or_default().to_owned())
    }

    /// Moves the mouse, with or without its button.
    ///
    /// # Errors
    /// Where the browser refuses.
    pub fn mouse(&self, kind: &str, x: f64, y: f64) -> Result<(), BrowserError> {
        let held = u32::from(kind != "mouseReleased");
        let (button, count) = if kind == "mouseMoved" { ("left", 0) } else { ("left", 1) };
        let params =
            json!({"type": kind, "x": x, "y": y, "button": button, "buttons": held, "clickCount": count});
        self.ask("Input.dispatchMouseEvent", params).map(drop)
    }

    /// Clicks.
    ///
    /// # Errors
    /// Where the browser refuses.
    pub fn click(&self, x: f64, y: f64) -> Result<(), BrowserError> {
        self.mouse("mousePressed", x, y)?;
        self.mouse("mouseReleased", x, y)
    }

    /// Clicks in the middle of the first element that a selector finds.
    ///
    /// # Errors
    /// Where there is none, or the browser refuses.
    pub fn click_on(&self, selector: &str) -> Result<(), BrowserError> {
        let quoted = json!(selector);
        let middle = self.value(&format!(
            "(() => {{ const box = document.querySelector({quoted}).getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; }})()"
        ))?;
        self.click(middle[0].as_f64().unwrap_or(0.0), middle[1].as_f64().unwrap_or(0.0))
    }

    /// Presses a key.
    ///
    /// # Errors
    /// Where the browser refuses.
    pub fn press(&self, key: Key) -> Result<(), BrowserError> {
        let (name, code, number, text) = key.parts();
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let params = |kind: &str| {
            let mut params =
                json!({"type": kind, "key": name, "code": code, "windowsVirtualKeyCode": number});
            if kind == "keyDown" {
                params["text"] = json!(text);
            }
            params
        };
        self.ask("Input.dispatchKeyEvent", params(down))?;
        self.ask("Input.dispatchKeyEvent", params("keyUp")).map(drop)
    }

    /// What the page did so far that it should not do.
    pub fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for event in self.pipe.events(&self.session) {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => {
                    seen.complaints.push(params["exceptionDetails"]["exception"]["description"].to_string());
                }
                "Runtime.consoleAPICalled" => seen.complaints.push(params["args"].to_string()),
                "Log.entryAdded" => seen.complaints.push(params["entry"]["text"].to_string()),
                "Network.requestWillBeSent" if params["type"] != json!("Document") => {
                    seen.requests.push(params["request"]["url"].to_string());
                }
                _ => {}
            }
        }
        seen
    }

    /// A picture of what is visible, as PNG.
    ///
    /// # Errors
    /// Where the browser refuses.
    pub fn picture(&self) -> Result<Vec<u8>, BrowserError> {
        let shot = self.ask("Page.captureScreenshot", json!({"format": "png", "optimizeForSpeed": false}))?;
        let data = shot["data"].as_str().unwrap_or_default();
        base64::engine::general_purpose::STANDARD
            .decode(data)
            .map_err(|error| BrowserError::Script(error.to_string()))
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        let _ = self.pipe.ask("Target.closeTarget", json!({"targetId": self.target}), None);
    }
}
