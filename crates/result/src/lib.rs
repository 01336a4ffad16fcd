//! The result types that measurements produce and outputs read.
//!
//! Each is a [`Report`]: the envelope of all result files, and a [`Body`], such as those of [`LoadResult`] and [`StudyResult`]. All
//! are plain data: statistics fill them, checks judge them, outputs only read them. Their serialised form is a published
//! contract: the JSON Schemas in `schemas/` are generated from these types.

mod address;
mod bill;
mod book;
mod calibrated;
mod calibration;
mod cluster;
mod comparison;
mod course;
mod crosscheck;
mod digits;
mod doctor;
mod environment;
mod find;
mod find_arms;
mod find_outcome;
mod finding;
mod gate;
mod graph_run;
mod histogram;
mod interval;
mod lint;
mod listeners_check;
mod load;
mod machine;
mod measures;
mod meshmark;
mod older;
mod parts;
mod prices;
mod program;
mod reasons;
mod report;
mod round;
mod scale;
mod sittings;
mod size;
mod speeds;
mod stored;
mod study;
mod version;

pub mod sample;

pub use address::{Measure, Place};
pub use bill::{
    Activity, BillBody, BillResult, BilledChange, BilledPair, BilledPart, BilledReplacement, BilledRequest,
    BilledSecondStudy, BilledSum, Charge,
};
pub use book::{Book, Stated};
pub use calibrated::{Calibrated, FloorAt, RateTried};
pub use calibration::{
    CalibrationBody, CalibrationResult, Ceiling, Experiment, Floor, PerRequestError, QuantileError,
    RateError, Recorder,
};
pub use cluster::{ClusterEnvironment, ClusterNode, CpuTimeSource};
pub use comparison::{
    ArmLeftOut, ComparedArms, ComparedMeasure, ComparedSubject, ComparisonBody, ComparisonResult,
    ConfigurationDifferences, Decision, KeyDifference, PartDifference, StudiesComparison,
    StudiesComparisonBody, SubjectName,
};
pub use course::{ConnectionsP99, Course, CourseInterval, Happened, SpreadSample, WorkerConnections};
pub use crosscheck::{
    CrosscheckBody, CrosscheckResult, Gaps, LeftOut, Scenario, ToolNumbers, ToolRun, ToolRuns,
};
pub use digits::{count, counted, grouped, percent, signed, ungrouped};
pub use doctor::{Ability, DoctorBody, DoctorResult, Extent, LimitReason};
pub use environment::Environment;
pub use find::{
    FastestMode, FindBody, FindEnd, FindEvidence, FindResult, FindState, FindTrial, FoundGoal, ModesOfLoad,
    Sweep, SweepKnee, SweepPoint, TriedObjective,
};
pub use find_arms::{ArmTrial, FindArmsBody, FindArmsResult, FoundArm};
pub use find_outcome::FindOutcome;
pub use finding::{Finding, Measured, Severity, Verdict};
pub use gate::{
    AnswerDifference, GateBody, GateLimit, GateOutcome, GateResult, ReferenceRun, StoredReference,
};
pub use graph_run::{
    CheckedProxy, GraphCondition, GraphRound, GraphRoundProxy, GraphRunBody, GraphRunCheck, GraphRunNumber,
    GraphRunProxy, GraphRunResponse, GraphRunResult, GraphRunTargets, GraphSlice,
};
pub use histogram::Histogram;
pub use interval::Interval;
pub use lint::{
    LintBody, LintChange, LintFinding, LintResult, LintRule, LintSeverity, LintUnread, LintedFile,
};
pub use listeners_check::{
    CheckedListener, CheckedPromise, ListenersCheckBody, ListenersCheckResult, PromiseKind, PromiseOutcome,
};
pub use load::{
    Agent, AgentOutcome, Agents, BodyBytes, ByConnection, BytesOverTime, CountRange, DataPlan, Drift,
    EndedBy, FailOn, FailOnOutcome, Generator, GeneratorWorker, Http2Plan, Imported, ImportedRange, InFlight,
    InFlightOverTime, IntervalTimes, KernelStamps, Known, Latency, LatencyBounds, LatencySet, LoadBody,
    LoadBounds, LoadHistograms, LoadInterval, LoadPlan, LoadRate, LoadResult, Lookups, Loop, Loosened,
    LowerBounds, Merged, MergedRun, Mode, NamedRequests, NetworkPlan, Outliers, Pacing, Percentile,
    PlanShare, ProcessAccount, QuantileIntervals, Range, RequestHistograms, RequestPhase, RunLeftOut, Stage,
    TimeBounds, TimeOf, TlsResult, Waiting, Window, Within, why_unsent,
};
pub use machine::{Lateness, MachineProbe, NeverHaltedBy, UsedByOthers, WakeUps};
pub use measures::{MeasureDefinition, RoundMeasure, RoundNumbers};
pub use meshmark::{MeshMarkArm, MeshMarkBody, MeshMarkResult, ValueForCost};
pub use older::Reader;
pub use parts::{PartCounts, Parts};
pub use prices::{ConversionError, ConvertedTo, Price, PriceMade, PricedMachine, PricesBody, PricesResult};
pub use program::Program;
pub use reasons::Reasons;
pub use report::{Body, Machine, Report};
pub use round::{
    ArmRound, Capacity, Disturbance, LimitPeriods, Opened, ProxyTraffic, QuietSlices, RoundProfile, Sample,
    StudyRound,
};
pub use scale::{
    PeakPlace, ScaleBody, ScaleDimension, ScaleFit, ScaleLeftOut, ScalePeak, ScalePoint, ScaleResult,
    ScaleSeries,
};
pub use sittings::{
    HoldsFor, SittingArm, SittingCost, SittingEstimate, SittingsBody, SittingsMachine, SittingsResult,
};
pub use size::{
    AddedTime, CheckedComposition, CheckedResponse, CheckedTime, ErrorSummary, KubernetesResources,
    ProxyLatency, ProxyMoney, SizeBody, SizeBottleneck, SizeCheckBody, SizeCheckResult, SizeLatency,
    SizeMoney, SizePoint, SizeResult, SizeSide, SizeSource, SizedCall, SizedConnections, SizedFunction,
    SizedProxy, SizedService, UncheckedComposition,
};
pub use speeds::{MachineSpeeds, Speed, SpeedKind, SpeedSide};
pub use stored::{
    HistoryBody, HistoryChange, HistoryPoint, HistoryResult, HistorySeries, RUN_FOLDER_FORMAT, RunsBody,
    RunsResult, StoredRun,
};
pub use study::{
    AllProcessors, Answer, ArmKind, ArmLoad, ArmResult, Bound, BoundOf, BoundShare, Bounds, ConnectionTls,
    Contrast, Cost, CostMeasure, CostShare, CostShares, CountedTime, FrameUse, GeneratorUse, HopProcessors,
    HopUse, HostUse, KnownAnswer, LayerUse, LinkPlan, LoadSpec, NamedNumber, Number, Phase, PlannedConfig,
    PlannedFirewall, PlannedFunction, PlannedHop, PlannedNetwork, PlannedPhase, PlannedRequest,
    PlannedSubject, ProxyUse, PublishedMeasure, PublishedNumber, QuietRule, ResponseCost, ResponseHistogram,
    RuleCost, SequentialPlan, Shape, SittingRecord, Slices, Standing, StatusResult, StudyBody, StudyPlan,
    StudyResult, Timeline, TimelinePlan, TimelinePoint, TopDownPart, share_ends,
};
pub use version::check_format;
