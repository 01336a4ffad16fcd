//! The result types that measurements produce and outputs read.
//!
//! [`LoadResult`] is the result of one `hoptax load`, [`StudyResult`] that of one study. Both are plain data:
//! statistics fill them, checks judge them, outputs only read them. Their serialised form is a published
//! contract: the JSON Schemas in `schemas/` are generated from these types.

mod bill;
mod calibration;
mod comparison;
mod crosscheck;
mod digits;
mod environment;
mod find;
mod find_arms;
mod finding;
mod gate;
mod graph_run;
mod load;
mod machine;
mod meshmark;
mod prices;
mod reasons;
mod scale;
mod sittings;
mod size;
mod speeds;
mod stored;
mod study;

#[cfg(feature = "sample")]
pub mod sample;

pub use bill::{
    Activity, BillResult, BilledChange, BilledPair, BilledPart, BilledReplacement, BilledRequest,
    BilledSecondStudy, BilledSum, Charge,
};
pub use calibration::{
    Calibrated, CalibrationResult, Ceiling, Experiment, Floor, FloorAt, PerRequestError, QuantileError,
    RateError, RateTried, Recorder,
};
pub use comparison::{
    ArmLeftOut, ComparedArms, ComparedMeasure, ComparedSubject, ComparisonResult, ConfigurationDifferences,
    Decision, KeyDifference, PartDifference, StudiesComparison, SubjectName,
};
pub use crosscheck::{CrosscheckResult, Gaps, LeftOut, Scenario, ToolNumbers, ToolRun, ToolRuns};
pub use digits::{counted, grouped};
pub use environment::Environment;
pub use find::{
    FastestMode, FindEnd, FindEvidence, FindResult, FindState, FindTrial, FoundGoal, ModesOfLoad, Sweep,
    SweepKnee, SweepPoint, TriedObjective,
};
pub use find_arms::{ArmTrial, FindArmsResult, FoundArm};
pub use finding::{Finding, Measured, Severity, Verdict};
pub use gate::{AnswerDifference, GateLimit, GateOutcome, GateResult, ReferenceRun, StoredReference};
pub use graph_run::{
    CheckedProxy, GraphCondition, GraphRound, GraphRoundProxy, GraphRunCheck, GraphRunProxy,
    GraphRunResponse, GraphRunResult, GraphRunTargets, GraphSlice,
};
pub use load::{
    BodyBytes, Book, CountRange, DataPlan, Drift, EndedBy, FailOn, FailOnOutcome, Generator, GeneratorWorker,
    Http2Plan, Imported, ImportedRange, InFlight, IntervalTimes, KernelStamps, Known, Latency, LatencyBounds,
    LatencySet, LoadBounds, LoadHistograms, LoadInterval, LoadPlan, LoadRate, LoadResult, Lookups, Loop,
    Loosened, LowerBounds, Merged, MergedRun, Mode, NetworkPlan, Outliers, Pacing, Percentile,
    ProcessAccount, QuantileIntervals, Range, RunLeftOut, Stage, Stated, TimeBounds, TimeOf, TlsResult,
    Waiting, Window, Within,
};
pub use machine::{Lateness, MachineProbe, NeverHaltedBy, UsedByOthers, WakeUps};
pub use meshmark::{MeshMarkArm, MeshMarkResult, ValueForCost};
pub use prices::{CarriedTo, CarryError, Price, PriceMade, PricedMachine, PricesResult};
pub use reasons::Reasons;
pub use scale::{
    PeakPlace, ScaleDimension, ScaleFit, ScaleLeftOut, ScalePeak, ScalePoint, ScaleResult, ScaleSeries,
};
pub use sittings::{
    CostMeasure, HoldsFor, SittingArm, SittingCost, SittingEstimate, SittingRecord, SittingsMachine,
    SittingsResult,
};
pub use size::{
    AddedTime, CheckedComposition, CheckedResponse, CheckedTime, ErrorSummary, KubernetesResources,
    PredictedTime, ProxyLatency, ProxyMoney, SizeBottleneck, SizeCheckResult, SizeLatency, SizeMoney,
    SizePoint, SizeResult, SizeSide, SizeSource, SizedConnections, SizedFunction, SizedProxy,
    UncheckedComposition, WithheldTime,
};
pub use speeds::{MachineSpeeds, Speed, SpeedKind, SpeedSide};
pub use stored::{
    HistoryChange, HistoryPoint, HistoryResult, HistorySeries, RUN_FOLDER_FORMAT, RunKind, RunsResult,
    StoredRun,
};
pub use study::{
    AllProcessors, Answer, ArmKind, ArmLoad, ArmResult, ArmRound, Bound, BoundOf, Bounds, Capacity,
    ConnectionTls, ConnectionsP99, Cost, Course, CourseInterval, Disturbance, GeneratorUse, Happened,
    Histogram, HopProcessors, HopUse, HostUse, Interval, KnownAnswer, LayerUse, LinkPlan, LoadSpec, Measure,
    MeasureDefinition, NamedNumber, Number, Opened, PartCounts, Parts, Phase, Place, PlannedConfig,
    PlannedFirewall, PlannedFunction, PlannedHop, PlannedNetwork, PlannedPhase, PlannedRequest,
    PlannedSubject, ProxyTraffic, ProxyUse, ResponseCost, ResponseHistogram, RoundMeasure, RoundNumbers,
    RoundProfile, RuleCost, Sample, SequentialPlan, Shape, Slices, SpreadSample, Standing, StatusResult,
    StudyPlan, StudyResult, StudyRound, Timeline, TimelinePlan, TimelinePoint, TopDownPart,
    WorkerConnections,
};
