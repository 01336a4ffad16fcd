//! `hoptax schema`, `hoptax completions` and `hoptax man`: descriptions of the program for other programs.

use std::fs;

use clap::CommandFactory;
use hoptax_result::{
    BillResult, CalibrationResult, ComparisonResult, CrosscheckResult, FindArmsResult, FindResult,
    GateResult, GraphRunResult, HistoryResult, LoadInterval, LoadResult, MeshMarkResult, PricesResult,
    RunsResult, ScaleResult, SittingsResult, SizeCheckResult, SizeResult, StudiesComparison, StudyResult,
    TuneResult,
};
use hoptax_size::graph::GraphFile;

use crate::arguments::{Arguments, CompletionsArguments, ManArguments, SchemaArguments, SchemaOf};
use crate::exit::{Code, Failure};
use crate::print;

/// `hoptax schema`.
pub(crate) fn schema(arguments: &SchemaArguments) -> Result<Code, Failure> {
    let schema = match arguments.of {
        SchemaOf::StudyFile => hoptax_study::file::schema(),
        SchemaOf::Study => schemars::schema_for!(StudyResult).to_value(),
        SchemaOf::Sittings => schemars::schema_for!(SittingsResult).to_value(),
        SchemaOf::Bill => schemars::schema_for!(BillResult).to_value(),
        SchemaOf::Comparison => schemars::schema_for!(ComparisonResult).to_value(),
        SchemaOf::StudiesComparison => schemars::schema_for!(StudiesComparison).to_value(),
        SchemaOf::Gate => schemars::schema_for!(GateResult).to_value(),
        SchemaOf::Load => schemars::schema_for!(LoadResult).to_value(),
        SchemaOf::LoadInterval => schemars::schema_for!(LoadInterval).to_value(),
        SchemaOf::Find => schemars::schema_for!(FindResult).to_value(),
        SchemaOf::FindArms => schemars::schema_for!(FindArmsResult).to_value(),
        SchemaOf::Scale => schemars::schema_for!(ScaleResult).to_value(),
        SchemaOf::SizeGraph => schemars::schema_for!(GraphFile).to_value(),
        SchemaOf::Size => schemars::schema_for!(SizeResult).to_value(),
        SchemaOf::SizeCheck => schemars::schema_for!(SizeCheckResult).to_value(),
        SchemaOf::GraphRun => schemars::schema_for!(GraphRunResult).to_value(),
        SchemaOf::MeshMark => schemars::schema_for!(MeshMarkResult).to_value(),
        SchemaOf::Calibration => schemars::schema_for!(CalibrationResult).to_value(),
        SchemaOf::Crosscheck => schemars::schema_for!(CrosscheckResult).to_value(),
        SchemaOf::Tune => schemars::schema_for!(TuneResult).to_value(),
        SchemaOf::Prices => schemars::schema_for!(PricesResult).to_value(),
        SchemaOf::Runs => schemars::schema_for!(RunsResult).to_value(),
        SchemaOf::History => schemars::schema_for!(HistoryResult).to_value(),
    };
    print::result(&format!("{schema:#}"))?;
    Ok(Code::Success)
}

/// `hoptax completions`.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "hoptax", &mut script);
    print::result(&String::from_utf8_lossy(&script))?;
    Ok(Code::Success)
}

/// `hoptax man`.
pub(crate) fn man(arguments: &ManArguments) -> Result<Code, Failure> {
    let folder = &arguments.out;
    let failed =
        |error| Failure::environment(format!("cannot write man pages to `{}`: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)?;
    print::result(&format!("man pages written to {}", folder.display()))?;
    Ok(Code::Success)
}
