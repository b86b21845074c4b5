#![doc = include_str!("../README.md")]

use proc_macro2::{Group, Literal, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Fields, Ident, LitStr, Result, Token,
    parse::{Parse, ParseStream, Parser as _},
    parse_macro_input,
};

/// Implements `ToMessage`, `Display`, `Error` and `From` for an error, by the attributes of `thiserror`:
/// `#[error("…")]`, `#[error(transparent)]`, `#[from]`. The text is in the program once, as the
/// template of the message.
#[proc_macro_derive(Error, attributes(error, from))]
pub fn derive(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    of_type(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a message: as `format!`, but its template and values are kept apart.
#[proc_macro]
pub fn message(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let format = parse_macro_input!(input as Format);
    format.message(None).unwrap_or_else(Error::into_compile_error).into()
}

fn of_type(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let (mut arms, mut sources, mut conversions) = (vec![], vec![], vec![]);
    let mut take = |attributes: &[Attribute], path: TokenStream, fields: &Fields| -> Result<()> {
        arms.push(arm(attributes, &path, fields)?);
        if let Some(field) = fields.iter().find(|field| field.attrs.iter().any(|own| own.path().is_ident("from"))) {
            let of = &field.ty;
            conversions.push(quote! {
                impl ::std::convert::From<#of> for #name {
                    fn from(source: #of) -> Self {
                        #path(source)
                    }
                }
            });
            // What a transparent error shows is its source's own text.
            sources.push(match text(attributes, &path)?.to_string().as_str() {
                "transparent" => quote!(#path(source) => ::std::error::Error::source(source),),
                _ => quote!(#path(source) => ::std::option::Option::Some(source),),
            });
        }
        Ok(())
    };
    match &input.data {
        Data::Struct(data) => take(&input.attrs, quote!(Self), &data.fields)?,
        Data::Enum(data) => {
            for variant in &data.variants {
                let variant_name = &variant.ident;
                take(&variant.attrs, quote!(#name::#variant_name), &variant.fields)?;
            }
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "a union has no message")),
    }
    Ok(quote! {
        impl ::hushgrad_message::ToMessage for #name {
            // Errors are rare: one copy of their texts' code is enough.
            #[cold]
            #[inline(never)]
            #[allow(unused_variables, clippy::used_underscore_binding)]
            fn to_message(&self) -> ::hushgrad_message::Message {
                match self { #(#arms)* }
            }
        }
        ::hushgrad_message::display!(#name);
        impl ::std::error::Error for #name {
            fn source(&self) -> ::std::option::Option<&(dyn ::std::error::Error + 'static)> {
                match self {
                    #(#sources)*
                    #[allow(unreachable_patterns)]
                    _ => ::std::option::Option::None,
                }
            }
        }
        #(#conversions)*
    })
}

/// The tokens in `#[error(…)]`.
fn text(attributes: &[Attribute], path: &TokenStream) -> Result<TokenStream> {
    let said = attributes.iter().find(|attribute| attribute.path().is_ident("error"));
    let said = said.ok_or_else(|| Error::new_spanned(path, "an #[error(\"…\")] is needed"))?;
    Ok(said.meta.require_list()?.tokens.clone())
}

fn arm(attributes: &[Attribute], path: &TokenStream, fields: &Fields) -> Result<TokenStream> {
    let names: Vec<Ident> =
        fields.iter().enumerate().map(|(at, field)| field.ident.clone().unwrap_or_else(|| place(at))).collect();
    let pattern = match fields {
        Fields::Named(_) => quote!(#path { #(#names),* }),
        Fields::Unnamed(_) => quote!(#path ( #(#names),* )),
        Fields::Unit => path.clone(),
    };
    let tokens = text(attributes, path)?;
    let message = if tokens.to_string() == "transparent" {
        let inner = names.first().ok_or_else(|| Error::new_spanned(path, "nothing to show"))?;
        let value = value(&quote!(#inner), None);
        quote!({
            #[allow(unused_imports)]
            use ::hushgrad_message::hole::{OfMessage as _, OfText as _};
            ::hushgrad_message::hole::message(&#value)
        })
    } else {
        Format::parse.parse2(fields_named(tokens))?.message(Some(fields))?
    };
    Ok(quote!(#pattern => #message,))
}

/// The binding of a field without a name.
fn place(at: usize) -> Ident {
    format_ident!("_{at}")
}

/// Replaces `.field` and `.0` at the beginning of an expression, `thiserror`'s short form, by bindings.
fn fields_named(tokens: TokenStream) -> TokenStream {
    let mut out: Vec<TokenTree> = vec![];
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let begins = !matches!(out.last(), Some(TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Group(_)))
            || matches!(out.last(), Some(TokenTree::Ident(word)) if ["if", "match", "in"].iter().any(|key| word == key));
        match token {
            TokenTree::Punct(point) if point.as_char() == '.' && begins => match tokens.next() {
                Some(TokenTree::Literal(number)) => {
                    // `.0.len()` may be one literal, `0.`.
                    let digits = number.to_string();
                    let digits = digits.trim_end_matches('.').to_owned();
                    out.push(TokenTree::Ident(format_ident!("_{digits}")));
                }
                other => out.extend(other),
            },
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), fields_named(group.stream()));
                inner.set_span(group.span());
                out.push(TokenTree::Group(inner));
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}

/// A template and its arguments.
struct Format {
    template: LitStr,
    positional: Vec<Expr>,
    named: Vec<(Ident, Expr)>,
}

impl Parse for Format {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut format = Self { template: input.parse()?, positional: vec![], named: vec![] };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            if input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
                let name = input.parse()?;
                input.parse::<Token![=]>()?;
                format.named.push((name, input.parse()?));
            } else {
                format.positional.push(input.parse()?);
            }
        }
        Ok(format)
    }
}

impl Format {
    /// Writes the expression of the message; of a derived one, holes are also `fields`.
    fn message(&self, fields: Option<&Fields>) -> Result<TokenStream> {
        let wrong = |text: &str| Error::new(self.template.span(), text);
        let text = self.template.value();
        let (mut template, mut values, mut known, mut next) = (String::new(), vec![], Vec::<String>::new(), 0);
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (hole, after) = after.split_once('}').ok_or_else(|| wrong("a hole is not closed"))?;
            if hole.starts_with('{') || before.contains('}') {
                return Err(wrong("braces cannot be shown"));
            }
            let (name, format) = hole.split_once(':').map_or((hole, None), |(name, format)| (name, Some(format)));
            let tuple = fields.is_some_and(|fields| matches!(fields, Fields::Unnamed(_)));
            let (name, expression) = if name.is_empty() {
                next += 1;
                let expression = self.positional.get(next - 1).ok_or_else(|| wrong("a hole without a value"))?;
                ((next - 1).to_string(), expression.to_token_stream())
            } else if let Ok(at) = name.parse::<usize>() {
                let own = if tuple { Some(place(at).into_token_stream()) } else { None };
                let given = || self.positional.get(at).map(|expression| expression.to_token_stream());
                (name.to_owned(), own.or_else(given).ok_or_else(|| wrong("a hole without a value"))?)
            } else {
                let given = self.named.iter().find(|(known, _)| known == name);
                let own = || Ident::new(name, self.template.span()).into_token_stream();
                (name.to_owned(), given.map_or_else(own, |(_, expression)| expression.to_token_stream()))
            };
            template.push_str(before);
            template.push_str(&format!("{{{name}}}"));
            if !known.contains(&name) {
                values.push(value(&expression, format));
                known.push(name);
            }
            rest = after;
        }
        if rest.contains('}') {
            return Err(wrong("braces cannot be shown"));
        }
        template.push_str(rest);
        let template = Literal::string(&template);
        Ok(quote!({
            #[allow(unused_imports)]
            use ::hushgrad_message::hole::{OfMessage as _, OfText as _};
            ::hushgrad_message::Message::new(#template, &[#(#values),*])
        }))
    }
}

/// Writes the expression of a hole's value.
fn value(expression: &TokenStream, format: Option<&str>) -> TokenStream {
    if let Some(format) = format {
        let format = Literal::string(&format!("{{:{format}}}"));
        return value(&quote!(::std::format_args!(#format, #expression)), None);
    }
    quote!((&&::hushgrad_message::hole::Of(&(#expression))).hole())
}
