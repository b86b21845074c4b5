//! Formulas in one variable x (numbers, + − * / ^, parentheses, functions), parsed by winnow.
//!
//! Existing evaluators do not suit a wasm download: exmex 0.21, which is maintained, brings the
//! regex crate and its tables, 220 kB of wasm after Brotli against about 4 for this file; fasteval
//! and meval have had no release for years; evalexpr is under the AGPL.

use hushgrad_message::{Message, message, word};
use winnow::{
    Parser,
    combinator::{Infix, Prefix, expression, opt},
    error::ParserError,
    stream::{Stateful, Stream},
    token::{any, one_of, take_while},
};

use super::DensityError;

/// Longest formula, in characters.
const LONGEST: usize = 1000;
const DEEPEST: usize = 60;

/// A parsed formula in one variable x.
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

enum Named {
    X,
    Number(f64),
    One(One),
    Two(Two),
}

static NAMES: [(&str, Named); 19] = [
    ("x", Named::X),
    ("pi", Named::Number(std::f64::consts::PI)),
    ("e", Named::Number(std::f64::consts::E)),
    ("abs", Named::One(f64::abs)),
    ("exp", Named::One(f64::exp)),
    ("ln", Named::One(f64::ln)),
    ("log", Named::One(f64::ln)),
    ("sqrt", Named::One(f64::sqrt)),
    ("sin", Named::One(f64::sin)),
    ("cos", Named::One(f64::cos)),
    ("sinh", Named::One(f64::sinh)),
    ("cosh", Named::One(f64::cosh)),
    ("tanh", Named::One(f64::tanh)),
    ("atan", Named::One(f64::atan)),
    ("sech", Named::One(|x| x.cosh().recip())),
    ("erf", Named::One(libm::erf)),
    ("min", Named::Two(f64::min)),
    ("max", Named::Two(f64::max)),
    ("pow", Named::Two(f64::powf)),
];

impl Formula {
    /// Parses formulas such as `exp(-abs(x)^1.5)`; `−x^2` is −(x²), and `^` is right-associative.
    ///
    /// # Errors
    /// What is wrong, and at which character.
    pub fn read(text: &str) -> Result<Self, DensityError> {
        let wrong = |reason: Message| Err(DensityError::Formula(reason));
        if text.len() > LONGEST {
            return wrong(message!("it is longer than {LONGEST} characters"));
        }
        if !text.is_ascii() {
            return wrong(word!("it contains non-ASCII characters").into());
        }
        let state = State { length: text.len(), depth: 0 };
        let mut input = Input { input: text.as_bytes(), state };
        let whole = sum(&mut input).and_then(|node| match ahead(&mut input) {
            None => Ok(Self(node)),
            Some(found) => Err(unexpected(&input, found)),
        });
        whole.or_else(|error| wrong(error.0.unwrap_or_default()))
    }

    /// The value at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.0.at(x)
    }
}

type Input<'a> = Stateful<&'a [u8], State>;
type Read<T> = Result<T, Wrong>;

#[derive(Clone, Debug)]
struct State {
    /// Length of the whole text.
    length: usize,
    depth: usize,
}

/// An error with its position; `None` where the parser may backtrack.
#[derive(Debug)]
struct Wrong(Option<Message>);

impl<I: Stream> ParserError<I> for Wrong {
    type Inner = Self;

    fn from_input(_input: &I) -> Self {
        Self(None)
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }

    fn is_backtrack(&self) -> bool {
        self.0.is_none()
    }
}

#[inline(never)]
fn wrong(input: &Input<'_>, reason: Message) -> Wrong {
    let place = input.state.length - input.eof_offset() + 1;
    Wrong(Some(message!("at character {place}, {reason}")))
}

#[inline(never)]
fn unexpected(input: &Input<'_>, found: u8) -> Wrong {
    wrong(input, message!("“{}” is not expected here", found as char))
}

/// Skips spaces and peeks at the next character.
#[inline(never)]
fn ahead(input: &mut Input<'_>) -> Option<u8> {
    let spaces: Read<&[u8]> = take_while(0.., |c: u8| c.is_ascii_whitespace()).parse_next(input);
    spaces.ok().and_then(|_| input.input.first().copied())
}

#[inline(never)]
fn expect(input: &mut Input<'_>, wanted: u8) -> Read<()> {
    if ahead(input) != Some(wanted) {
        return Err(wrong(input, message!("a “{}” is missing", wanted as char)));
    }
    skip(input)
}

#[inline(never)]
fn skip(input: &mut Input<'_>) -> Read<()> {
    any.void().parse_next(input)
}

/// Enters a nesting level, for parentheses, arguments and powers.
#[inline(never)]
fn descend(input: &mut Input<'_>) -> Read<()> {
    input.state.depth += 1;
    if input.state.depth > DEEPEST {
        return Err(wrong(input, message!("it is nested more than {DEEPEST} deep")));
    }
    Ok(())
}

#[inline(never)]
fn sum(input: &mut Input<'_>) -> Read<Node> {
    descend(input)?;
    let node = expression(operand).prefix(signs).infix(operator).parse_next(input)?;
    input.state.depth -= 1;
    Ok(node)
}

#[inline(never)]
fn two(f: Two, a: Node, b: Node) -> Read<Node> {
    Ok(Node::Two(f, a.into(), b.into()))
}

/// Parses an infix operator, with its binding power.
#[inline(never)]
fn operator<'a>(input: &mut Input<'a>) -> Read<Infix<Input<'a>, Node, Wrong>> {
    let found = ahead(input);
    skip(input)?;
    Ok(match found {
        Some(b'+') => Infix::Left(1, |_, a, b| two(|a, b| a + b, a, b)),
        Some(b'-') => Infix::Left(1, |_, a, b| two(|a, b| a - b, a, b)),
        Some(b'*') => Infix::Left(3, |_, a, b| two(|a, b| a * b, a, b)),
        Some(b'/') => Infix::Left(3, |_, a, b| two(|a, b| a / b, a, b)),
        Some(b'^') => {
            // Nothing binds more tightly: it is never put back, and its exponent follows.
            descend(input)?;
            Infix::Right(7, |input: &mut Input<'a>, a, b| {
                input.state.depth -= 1;
                two(f64::powf, a, b)
            })
        }
        _ => return Err(Wrong(None)),
    })
}

/// Parses a run of signs as one, so that many signs are not nested deeply.
#[inline(never)]
fn signs<'a>(input: &mut Input<'a>) -> Read<Prefix<Input<'a>, Node, Wrong>> {
    let (mut negative, mut some) = (false, false);
    loop {
        match ahead(input) {
            Some(sign @ (b'-' | b'+')) => (negative, some) = (negative ^ (sign == b'-'), true),
            _ if negative => return Ok(Prefix(5, |_, a| Ok(Node::One(|a| -a, a.into())))),
            _ if some => return Ok(Prefix(5, |_, a| Ok(a))),
            None => return Err(wrong(input, word!("it ends too early").into())),
            Some(found) => return Err(unexpected(input, found)),
        }
        skip(input)?;
    }
}

#[inline(never)]
fn operand(input: &mut Input<'_>) -> Read<Node> {
    match ahead(input) {
        Some(b'(') => arguments(input, b")").map(|[node, _]| node),
        Some(b'0'..=b'9' | b'.') => number(input),
        Some(c) if c.is_ascii_alphabetic() => name(input),
        _ => Err(Wrong(None)),
    }
}

/// Parses one or two parenthesised formulas, each followed by its delimiter in `ends`.
#[inline(never)]
fn arguments(input: &mut Input<'_>, ends: &[u8]) -> Read<[Node; 2]> {
    let mut found = [Node::X, Node::X];
    expect(input, b'(')?;
    for (node, end) in found.iter_mut().zip(ends) {
        *node = sum(input)?;
        expect(input, *end)?;
    }
    Ok(found)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[inline(never)]
fn number(input: &mut Input<'_>) -> Read<Node> {
    let digits = |least: usize| take_while(least.., |c: u8| c.is_ascii_digit() || c == b'.');
    // 1e-5, but not the e of 2exp(x).
    let first = one_of(|c: u8| c.is_ascii_digit());
    let exponent = (one_of([b'e', b'E']), opt(one_of([b'-', b'+'])), first, digits(0));
    let found = text((digits(1), opt(exponent)).take().parse_next(input)?);
    found
        .parse()
        .map(Node::Number)
        .map_err(|_| wrong(input, message!("“{found}” is not a number", found = found.to_owned())))
}

#[inline(never)]
fn name(input: &mut Input<'_>) -> Read<Node> {
    let before = input.clone();
    let name = text(take_while(1.., |c: u8| c.is_ascii_alphanumeric()).parse_next(input)?);
    for (known, meaning) in &NAMES {
        if *known == name {
            return match meaning {
                Named::X => Ok(Node::X),
                Named::Number(value) => Ok(Node::Number(*value)),
                Named::One(f) => arguments(input, b")").map(|[a, _]| Node::One(*f, a.into())),
                Named::Two(f) => arguments(input, b",)").and_then(|[a, b]| two(*f, a, b)),
            };
        }
    }
    let names: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
    Err(wrong(&before, message!("“{}” is unknown; known names: {}", name.to_owned(), names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formulas_evaluate_with_usual_precedence() {
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
            ("2^-x^2", 0.0625),
            ("2^-1*3", 1.5),
            ("-2^2*3", -12.0),
            ("x - - + -x", 0.0),
            ("x*-+-x/4", 1.0),
            ("3.^.5^2", 3f64.powf(0.25)),
            ("1E+2-1e-2", 99.99),
            ("pow ( x , 3 )-min(1,x)", 7.0),
            ("--x^2^-1", std::f64::consts::SQRT_2),
            ("1e", f64::NAN),
            ("2 3", f64::NAN),
            ("x^", f64::NAN),
            ("()", f64::NAN),
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
        assert!(says("x²").contains("non-ASCII characters"));
        assert!(says(&"(".repeat(500)).contains("nested"));
        assert!(says(&format!("x{}", "^x".repeat(400))).contains("nested"));
        assert!(says(&"x+".repeat(600)).contains("longer"));
        assert!(says("1e5.2+x").contains("at character 6, “1e5.2” is not a number"));
        assert!(says("2 ^ ").contains("at character 5, it ends too early"));
        assert!(says("2x").contains("at character 2, “x” is not expected here"));
        assert!(says("max(x,\t,1)").contains("at character 8, “,” is not expected here"));
        assert!(says("sin x").contains("at character 5, a “(” is missing"));
    }

    /// The longest possible texts exhaust neither the stack nor the time.
    #[test]
    fn nesting_is_limited_and_signs_do_not_nest() {
        let says = |text: &str| Formula::read(text).unwrap_err().to_string();
        assert!(says(&"(".repeat(LONGEST)).contains(&format!("at character {}, it is nested", DEEPEST + 1)));
        assert!(says(&"-(".repeat(LONGEST / 2)).contains("nested more than 60 deep"));
        assert!(says(&"x^-".repeat(LONGEST / 3)).contains("nested more than 60 deep"));
        assert!(says(&"-".repeat(LONGEST)).contains("at character 1001, it ends too early"));
        let deepest = |inner: usize| format!("{}x{}", "(".repeat(inner), ")".repeat(inner));
        assert!(Formula::read(&deepest(DEEPEST - 1)).is_ok() && Formula::read(&deepest(DEEPEST)).is_err());
        let powers = |count: usize| format!("x{}", "^1".repeat(count));
        assert!(Formula::read(&powers(DEEPEST - 1)).is_ok() && Formula::read(&powers(DEEPEST)).is_err());
        // A level that was left no longer counts.
        assert!(Formula::read(&format!("{0}+{0}", deepest(DEEPEST - 1))).is_ok());
        assert!(Formula::read(&["x^2"; 200].join("+")).is_ok());
        let signs = Formula::read(&format!("{}x", "-".repeat(LONGEST - 1))).unwrap();
        assert_eq!(signs.at(2.0), -2.0);
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "[-+*/^()x.,0-9a-z ]{0,60}") {
            if let Ok(formula) = Formula::read(&text) {
                let _ = formula.at(0.5);
            }
        }
    }
}
