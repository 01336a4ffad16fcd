//! Evidence that the functions of the proxies of an arm were active.

use hoptax_functions::Proof;

use super::{Arm, Hop};
use crate::file::Protocol;

impl Arm {
    /// Evidence that the functions of one of its proxies were active, or that requests went through its given configuration. Each proof has
    /// the prefix of the message of its failure, which names the function, and the proxy if the arm has several.
    pub fn proofs(&self, hop: &Hop) -> Vec<(String, Proof)> {
        let place = self.place(hop);
        let protocol = self.conditions.protocol;
        let of_functions = hop.functions.proofs().into_iter().map(|(component, proof)| {
            let proof = if protocol == Protocol::Tcp { proof.over_tcp() } else { proof };
            (self.prefix(hop, &component.name), proof)
        });
        let of_given = hop.given.iter().filter_map(|given| {
            let proof = Proof { name: given.proof.clone()?, above: None };
            Some((format!("`{}`{place}: ", given.path), proof))
        });
        of_functions.chain(of_given).collect()
    }

    /// Returns the targets that file descriptors of one of its proxies must link to, each with the prefix of the message if none does.
    pub fn opens<'a>(&'a self, hop: &'a Hop) -> impl Iterator<Item = (String, &'a str)> {
        hop.functions.opens().map(move |(component, link)| (self.prefix(hop, &component.name), link))
    }

    /// The proxy as a part of a sentence, if the arm has several.
    fn place(&self, hop: &Hop) -> String {
        if self.chain.hops.len() > 1 { format!(" at `{}`", hop.name) } else { String::new() }
    }

    /// Names a function and its proxy before a failure, if the arm has several.
    fn prefix(&self, hop: &Hop, name: &str) -> String {
        let place = self.place(hop);
        let is_one = self.functions.only().is_some() && place.is_empty();
        if is_one { String::new() } else { format!("`{name}`{place}: ") }
    }
}
