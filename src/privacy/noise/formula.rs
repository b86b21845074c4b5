//! Formulas in one variable x: numbers, + − * / ^, parentheses, and the functions that densities are written with.
//!
//! Read here and not by a crate, as every visitor downloads it: exmex 0.21, which is kept, brings the regex crate and its tables, 220 kB of a page's
//! wasm after Brotli where this file is 3.5; fasteval and meval have had no release for years; evalexpr's licence is the AGPL.

use super::DensityError;

/// Longest formula, in characters.
const LONGEST: usize = 1000;
/// Deepest nesting.
const DEEPEST: usize = 60;

/// A formula that has been read.
#[derive(Clone, Debug)]
pub struct Formula(Node);

#[derive(Clone, Debug)]
enum Node {
    Number(f64),
    X,
    One(One, Box<Self>),
    Two(Two, Box<Self>, Box<Self>),
}

impl Node {
    fn at(&self, x: f64) -> f64 {
        match self {
            Self::Number(n) => *n,
            Self::X => x,
            Self::One(f, a) => f(a.at(x)),
            Self::Two(f, a, b) => f(a.at(x), b.at(x)),
        }
    }
}

type One = fn(f64) -> f64;
type Two = fn(f64, f64) -> f64;

const ONE: [(&str, One); 13] = [
    ("abs", f64::abs),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log", f64::ln),
    ("sqrt", f64::sqrt),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("tanh", f64::tanh),
    ("atan", f64::atan),
    ("sech", |x| x.cosh().recip()),
    ("erf", libm::erf),
];
const TWO: [(&str, Two); 3] = [("min", f64::min), ("max", f64::max), ("pow", f64::powf)];

impl Formula {
    /// Reads `exp(-abs(x)^1.5)` and its like; `−x^2` is −(x²), and `^` binds from the right.
    ///
    /// # Errors
    /// What is wrong, and at which character.
    pub fn read(text: &str) -> Result<Self, DensityError> {
        let wrong = |reason: String| Err(DensityError::Formula(reason));
        if text.len() > LONGEST {
            return wrong(format!("it is longer than {LONGEST} characters"));
        }
        if !text.is_ascii() {
            return wrong("it has characters other than ASCII".to_owned());
        }
        let mut reader = Reader { text: text.as_bytes(), at: 0, depth: 0 };
        let node = reader.sum()?;
        match reader.peek() {
            None => Ok(Self(node)),
            Some(found) => reader.wrong(&format!("“{}” is not expected here", found as char)),
        }
    }

    /// Its value.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.0.at(x)
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn wrong<T>(&self, reason: &str) -> Result<T, DensityError> {
        Err(DensityError::Formula(format!("at character {}, {reason}", self.at + 1)))
    }

    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: u8) -> Result<(), DensityError> {
        if self.take(wanted) { Ok(()) } else { self.wrong(&format!("a “{}” is missing", wanted as char)) }
    }

    fn sum(&mut self) -> Result<Node, DensityError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong(&format!("it is nested more than {DEEPEST} deep"));
        }
        let mut node = self.product()?;
        loop {
            let join: fn(f64, f64) -> f64 = match self.peek() {
                Some(b'+') => |a, b| a + b,
                Some(b'-') => |a, b| a - b,
                _ => break,
            };
            self.at += 1;
            node = Node::Two(join, node.into(), self.product()?.into());
        }
        self.depth -= 1;
        Ok(node)
    }

    fn product(&mut self) -> Result<Node, DensityError> {
        let mut node = self.signed()?;
        loop {
            let join: fn(f64, f64) -> f64 = match self.peek() {
                Some(b'*') => |a, b| a * b,
                Some(b'/') => |a, b| a / b,
                _ => return Ok(node),
            };
            self.at += 1;
            node = Node::Two(join, node.into(), self.signed()?.into());
        }
    }

    fn signed(&mut self) -> Result<Node, DensityError> {
        let mut negative = false;
        loop {
            match self.peek() {
                Some(b'-') => negative = !negative,
                Some(b'+') => {}
                _ => break,
            }
            self.at += 1;
        }
        let node = self.power()?;
        Ok(if negative { Node::One(|a| -a, node.into()) } else { node })
    }

    fn power(&mut self) -> Result<Node, DensityError> {
        let base = self.atom()?;
        if !self.take(b'^') {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong(&format!("it is nested more than {DEEPEST} deep"));
        }
        let power = self.signed()?;
        self.depth -= 1;
        Ok(Node::Two(f64::powf, base.into(), power.into()))
    }

    fn atom(&mut self) -> Result<Node, DensityError> {
        match self.peek() {
            None => self.wrong("it ends too early"),
            Some(b'(') => {
                self.at += 1;
                let node = self.sum()?;
                self.expect(b')')?;
                Ok(node)
            }
            Some(c) if c.is_ascii_digit() || c == b'.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            Some(c) => self.wrong(&format!("“{}” is not expected here", c as char)),
        }
    }

    fn number(&mut self) -> Result<Node, DensityError> {
        let start = self.at;
        let digits = |reader: &mut Self| {
            while reader.text.get(reader.at).is_some_and(|c| c.is_ascii_digit() || *c == b'.') {
                reader.at += 1;
            }
        };
        digits(self);
        // 1e-5, but not the e of 2exp(x).
        if let [b'e' | b'E', rest @ ..] = &self.text[self.at..] {
            let sign = usize::from(rest.first().is_some_and(|c| matches!(c, b'+' | b'-')));
            if rest.get(sign).is_some_and(u8::is_ascii_digit) {
                self.at += 1 + sign;
                digits(self);
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        match text.parse() {
            Ok(number) => Ok(Node::Number(number)),
            Err(_) => self.wrong(&format!("“{text}” is not a number")),
        }
    }

    fn name(&mut self) -> Result<Node, DensityError> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_alphanumeric) {
            self.at += 1;
        }
        let name = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        match name {
            "x" => return Ok(Node::X),
            "pi" => return Ok(Node::Number(std::f64::consts::PI)),
            "e" => return Ok(Node::Number(std::f64::consts::E)),
            _ => {}
        }
        if let Some(&(_, f)) = ONE.iter().find(|(known, _)| *known == name) {
            self.expect(b'(')?;
            let a = self.sum()?;
            self.expect(b')')?;
            return Ok(Node::One(f, a.into()));
        }
        if let Some(&(_, f)) = TWO.iter().find(|(known, _)| *known == name) {
            self.expect(b'(')?;
            let a = self.sum()?;
            self.expect(b',')?;
            let b = self.sum()?;
            self.expect(b')')?;
            return Ok(Node::Two(f, a.into(), b.into()));
        }
        self.at = start;
        let known = ONE.iter().map(|f| f.0).chain(TWO.iter().map(|f| f.0)).collect::<Vec<_>>().join(", ");
        self.wrong(&format!("“{name}” is unknown; there are x, pi, e, {known}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formulas_mean_what_they_say() {
        for (text, value) in [
            ("2+3*4^2", 50.0),
            ("-x^2", -4.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("10-4-3", 3.0),
            ("8/2/2", 2.0),
            ("exp(-abs(x)^3)", (-8f64).exp()),
            ("1e-2*x", 0.02),
            ("2e", f64::NAN),
            ("max(x, 3)*pi", 3.0 * std::f64::consts::PI),
            (" ( x ) ", 2.0),
            ("sech(0)+erf(0)", 1.0),
        ] {
            match Formula::read(text) {
                Ok(formula) => assert!((formula.at(2.0) - value).abs() < 1e-12, "{text}: {}", formula.at(2.0)),
                Err(_) => assert!(value.is_nan(), "{text}"),
            }
        }
    }

    #[test]
    fn a_refusal_names_the_place() {
        let says = |text: &str| Formula::read(text).unwrap_err().to_string();
        assert!(says("exp(-y)").contains("at character 6, “y” is unknown"), "{}", says("exp(-y)"));
        assert!(says("exp(").contains("at character 5, it ends too early"));
        assert!(says("exp(x").contains("a “)” is missing"));
        assert!(says("x+*2").contains("at character 3, “*” is not expected here"));
        assert!(says("x)").contains("at character 2"));
        assert!(says("1.2.3").contains("is not a number"));
        assert!(says("max(x)").contains("a “,” is missing"));
        assert!(says("").contains("ends too early"));
        assert!(says("x²").contains("other than ASCII"));
        assert!(says(&"(".repeat(500)).contains("nested"));
        assert!(says(&format!("x{}", "^x".repeat(400))).contains("nested"));
        assert!(says(&"x+".repeat(600)).contains("longer"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[-+*/^()x.,0-9a-z ]{0,60}") {
            if let Ok(formula) = Formula::read(&text) {
                let _ = formula.at(0.5);
            }
        }
    }
}
