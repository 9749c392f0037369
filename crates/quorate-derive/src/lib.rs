//! Derives `quorate::Rename`: the same value with every process id inside it renamed, field by field.
//!
//! The trait, what it is for and what counts as an id are described where it is defined, in `quorate`.
//!
//! Known: like the derives of the standard library, it bounds type parameters, and `T::Name` where a field says so,
//! not the types of fields: those bounds would go round in circles for a type that contains itself.
//! Held by: `crates/quorate/tests/rename.rs`.

use proc_macro::TokenStream as Expansion;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Field, Fields, Generics, Member, Result, WherePredicate, parse_quote};

/// Renames every field of a struct, or of a variant of an enum.
///
/// `#[rename(skip)]` on a field copies it as it is, which its type must be `Clone` for: it holds no ids.
///
/// `quorate` exports it beside the trait, whose documentation has an example.
#[proc_macro_derive(Rename, attributes(rename))]
pub fn derive_rename(input: Expansion) -> Expansion {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let (arms, fields): (Vec<TokenStream>, Vec<&Field>) = match &input.data {
        Data::Struct(data) => (vec![arm(&quote!(Self), &data.fields)?], data.fields.iter().collect()),
        Data::Enum(data) => {
            let arms = data.variants.iter().map(|variant| {
                let name = &variant.ident;
                arm(&quote!(Self::#name), &variant.fields)
            });
            (arms.collect::<Result<_>>()?, data.variants.iter().flat_map(|variant| &variant.fields).collect())
        }
        Data::Union(_) => {
            return Err(Error::new_spanned(
                &input.ident,
                "a union cannot be renamed: expected a struct or an enum",
            ));
        }
    };
    // An enum without variants has no values: `match self` of a reference would ask for an arm.
    let scrutinee = if arms.is_empty() { quote!(*self) } else { quote!(self) };
    let name = &input.ident;
    let generics = bounded(input.generics.clone(), &fields)?;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::quorate::Rename for #name #type_generics #where_clause {
            fn rename(&self, ids: &::quorate::Renaming) -> Self {
                match #scrutinee { #(#arms)* }
            }
        }
    })
}

/// `Self::Variant { field: a, 0: b } => Self::Variant { … }`: the braces do for named, numbered and no fields.
fn arm(constructor: &TokenStream, fields: &Fields) -> Result<TokenStream> {
    let members: Vec<Member> = fields.members().collect();
    let bindings: Vec<Ident> = (0..members.len()).map(|at| format_ident!("field_{at}")).collect();
    let renamed = fields.iter().zip(&bindings).map(|(field, binding)| {
        Ok(if is_skipped(field)? {
            quote!(::core::clone::Clone::clone(#binding))
        } else {
            quote!(::quorate::Rename::rename(#binding, ids))
        })
    });
    let renamed = renamed.collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        #constructor { #(#members: #bindings),* } => #constructor { #(#members: #renamed),* },
    })
}

fn is_skipped(field: &Field) -> Result<bool> {
    let mut skipped = false;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("rename")) {
        attribute.parse_nested_meta(|meta| {
            skipped = meta.path.is_ident("skip");
            if skipped { Ok(()) } else { Err(meta.error("expected #[rename(skip)]")) }
        })?;
    }
    Ok(skipped)
}

/// What the type parameters must be able to do, by the fields that mention them.
fn bounded(mut generics: Generics, fields: &[&Field]) -> Result<Generics> {
    let parameters: Vec<Ident> = generics.type_params().map(|parameter| parameter.ident.clone()).collect();
    let mut bounds: Vec<WherePredicate> = Vec::new();
    for field in fields {
        let ty = &field.ty;
        let mentioned = mentioned(quote!(#ty), &parameters);
        if is_skipped(field)? {
            bounds.extend((!mentioned.is_empty()).then(|| parse_quote!(#ty: ::core::clone::Clone)));
        } else {
            bounds.extend(
                mentioned.iter().map(|part| -> WherePredicate { parse_quote!(#part: ::quorate::Rename) }),
            );
        }
    }
    if !bounds.is_empty() {
        generics.make_where_clause().predicates.extend(bounds);
    }
    Ok(generics)
}

/// The type parameters in a type: `T`, or `T::Name` where that is what it says.
fn mentioned(ty: TokenStream, parameters: &[Ident]) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = ty.into_iter().collect();
    let is_colon =
        |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => found.extend(mentioned(group.stream(), parameters)),
            // A name behind `::` belongs to a path, even if a parameter has the same.
            TokenTree::Ident(name) if parameters.contains(name) && (at == 0 || !is_colon(at - 1)) => {
                let associated = tokens.get(at + 3).filter(|_| is_colon(at + 1) && is_colon(at + 2));
                found.push(associated.map_or_else(|| quote!(#name), |associated| quote!(#name::#associated)));
            }
            _ => {}
        }
    }
    found
}
