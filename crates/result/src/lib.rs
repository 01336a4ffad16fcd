//! The result types that measurements produce and outputs read.
//!
//! Each is a [`Report`]: the envelope of all result files, and a [`Body`], such as those of [`LoadResult`] and [`StudyResult`]. All
//! are plain data: statistics fill them, checks judge them, outputs only read them. Their serialised form is a published
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
mod program;
mod reasons;
mod report;
mod scale;
mod sittings;
mod size;
mod speeds;
mod stored;
mod study;

#[cfg(any(test, feature = "sample"))]
pub mod sample;

pub use bill::{
    Activity, BillBody, BillResult, BilledChange, BilledPair, BilledPart, BilledReplacement, BilledRequest,
    BilledSecondStudy, BilledSum, Charge,
};
pub use calibration::{
    Calibrated, CalibrationBody, CalibrationResult, Ceiling, Experiment, Floor, FloorAt, PerRequestError,
    QuantileError, RateError, RateTried, Recorder,
};
pub use comparison::{
    ArmLeftOut, ComparedArms, ComparedMeasure, ComparedSubject, ComparisonBody, ComparisonResult,
    ConfigurationDifferences, Decision, KeyDifference, PartDifference, StudiesComparison,
    StudiesComparisonBody, SubjectName,
};
pub use crosscheck::{
    CrosscheckBody, CrosscheckResult, Gaps, LeftOut, Scenario, ToolNumbers, ToolRun, ToolRuns,
};
pub use digits::{counted, grouped};
pub use environment::Environment;
pub use find::{
    FastestMode, FindBody, FindEnd, FindEvidence, FindResult, FindState, FindTrial, FoundGoal, ModesOfLoad,
    Sweep, SweepKnee, SweepPoint, TriedObjective,
};
pub use find_arms::{ArmTrial, FindArmsBody, FindArmsResult, FoundArm};
pub use finding::{Finding, Measured, Severity, Verdict};
pub use gate::{
    AnswerDifference, GateBody, GateLimit, GateOutcome, GateResult, ReferenceRun, StoredReference,
};
pub use graph_run::{
    CheckedProxy, GraphCondition, GraphRound, GraphRoundProxy, GraphRunBody, GraphRunCheck, GraphRunProxy,
    GraphRunResponse, GraphRunResult, GraphRunTargets, GraphSlice,
};
pub use load::{
    BodyBytes, Book, CountRange, DataPlan, Drift, EndedBy, FailOn, FailOnOutcome, Generator, GeneratorWorker,
    Http2Plan, Imported, ImportedRange, InFlight, IntervalTimes, KernelStamps, Known, Latency, LatencyBounds,
    LatencySet, LoadBody, LoadBounds, LoadHistograms, LoadInterval, LoadPlan, LoadRate, LoadResult, Lookups,
    Loop, Loosened, LowerBounds, Merged, MergedRun, Mode, NetworkPlan, Outliers, Pacing, Percentile,
    ProcessAccount, QuantileIntervals, Range, RunLeftOut, Stage, Stated, TimeBounds, TimeOf, TlsResult,
    Waiting, Window, Within,
};
pub use machine::{Lateness, MachineProbe, NeverHaltedBy, UsedByOthers, WakeUps};
pub use meshmark::{MeshMarkArm, MeshMarkBody, MeshMarkResult, ValueForCost};
pub use prices::{CarriedTo, CarryError, Price, PriceMade, PricedMachine, PricesBody, PricesResult};
pub use program::Program;
pub use reasons::Reasons;
pub use report::{Body, Machine, Report};
pub use scale::{
    PeakPlace, ScaleBody, ScaleDimension, ScaleFit, ScaleLeftOut, ScalePeak, ScalePoint, ScaleResult,
    ScaleSeries,
};
pub use sittings::{
    CostMeasure, HoldsFor, SittingArm, SittingCost, SittingEstimate, SittingRecord, SittingsBody,
    SittingsMachine, SittingsResult,
};
pub use size::{
    AddedTime, CheckedComposition, CheckedResponse, CheckedTime, ErrorSummary, KubernetesResources,
    PredictedTime, ProxyLatency, ProxyMoney, SizeBody, SizeBottleneck, SizeCheckBody, SizeCheckResult,
    SizeLatency, SizeMoney, SizePoint, SizeResult, SizeSide, SizeSource, SizedConnections, SizedFunction,
    SizedProxy, UncheckedComposition, WithheldTime,
};
pub use speeds::{MachineSpeeds, Speed, SpeedKind, SpeedSide};
pub use stored::{
    HistoryBody, HistoryChange, HistoryPoint, HistoryResult, HistorySeries, RUN_FOLDER_FORMAT, RunsBody,
    RunsResult, StoredRun,
};
pub use study::{
    AllProcessors, Answer, ArmKind, ArmLoad, ArmResult, ArmRound, Borrowed, Bound, BoundOf, Bounds, Capacity,
    ConnectionTls, ConnectionsP99, Cost, Course, CourseInterval, Disturbance, GeneratorUse, Happened,
    Histogram, HopProcessors, HopUse, HostUse, Interval, KnownAnswer, LayerUse, LinkPlan, LoadSpec, Measure,
    MeasureDefinition, NamedNumber, Number, Opened, PartCounts, Parts, Phase, Place, PlannedConfig,
    PlannedFirewall, PlannedFunction, PlannedHop, PlannedNetwork, PlannedPhase, PlannedRequest,
    PlannedSubject, ProxyTraffic, ProxyUse, ResponseCost, ResponseHistogram, RoundMeasure, RoundNumbers,
    RoundProfile, RuleCost, Sample, SequentialPlan, Shape, Slices, SpreadSample, Standing, StatusResult,
    StudyBody, StudyPlan, StudyResult, StudyRound, Timeline, TimelinePlan, TimelinePoint, TopDownPart,
    WorkerConnections,
};
