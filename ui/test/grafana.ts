// The dashboard in docs/ as the types of Grafana have it, which Grafana makes of its schema. Nothing of Grafana runs.

import type * as grafana from "@grafana/schema";

/** A type as JSON has it: the text of a member of an enumeration instead of the member. */
type Json<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;

/** A query of Prometheus: Grafana exports only what the queries of all data sources have in common. */
interface Query extends grafana.DataQuery {
  expr: string;
  legendFormat: string;
  editorMode: "builder" | "code";
  instant: boolean;
  range: boolean;
  interval?: string;
}

/** A panel of lines over time. A panel of any kind may have any options, so they are those of this kind here. */
interface TimeSeries extends Omit<grafana.Panel, "type" | "targets" | "options" | "fieldConfig"> {
  type: "timeseries";
  targets: Query[];
  options: grafana.OptionsWithTimezones & grafana.OptionsWithLegend & grafana.OptionsWithTooltip;
  fieldConfig: Omit<grafana.FieldConfigSource, "defaults"> & { defaults: Omit<grafana.FieldConfig, "custom"> & { custom: grafana.GraphFieldConfig } };
}

/** A variable; the editor of queries also writes their text into it. */
interface Variable extends grafana.VariableModel {
  definition?: string;
}

interface Whole extends Omit<grafana.Dashboard, "panels" | "templating"> {
  panels: TimeSeries[];
  templating: { list: Variable[] };
}

/** The dashboard. */
export type Dashboard = Json<Whole>;
