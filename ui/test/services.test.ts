import { expect, test } from "vitest";
import type { Scene, Shape } from "../src/chart/scene";
import { callers, ordered, services, servicesTable } from "../src/chart/services";
import type { Quantity, ServiceGraph, Waterfall } from "../src/types/document";

const ONCE = "1 call for each request";

function cores(estimate: number): Quantity {
  return { text: `+${estimate} ±0.01`, estimate, low: estimate - 0.01, high: estimate + 0.01, unit: "cores", form: "difference", basis: "predicted" };
}

const GRAPH: ServiceGraph = {
  title: "services",
  services: [
    { name: "gateway", has_proxy: true, calls: [{ to: 1, text: ONCE }, { to: 2, text: "2 calls for each request" }], inbound: [0], outbound: [1] },
    { name: "cart", has_proxy: true, calls: [{ to: 2, text: ONCE }], inbound: [], outbound: [] },
    { name: "store", has_proxy: false, calls: [], inbound: [], outbound: [] },
  ],
};
const DATA: Waterfall = {
  title: "cores",
  axis: "cores",
  unit: "cores",
  rest: cores(1),
  parts: [
    { name: "gateway: jwt", kind: "inbound requests of `gateway`", cost: cores(0.2), also: [] },
    { name: "gateway: rbac (outbound)", kind: "outbound requests of `gateway`", cost: cores(0.1), also: [] },
  ],
  together: null,
  whole: cores(1.3),
  also: [],
  rate: null,
  price_per_core_hour: null,
  hours_per_month: 730,
  graph: GRAPH,
};

function of<K extends Shape["kind"]>(scene: Scene, kind: K, name: string): Extract<Shape, { kind: K }>[] {
  return scene.shapes.filter((shape): shape is Extract<Shape, { kind: K }> => shape.kind === kind && shape.of.split(" ")[0] === name);
}

test("each service is once, after the first that calls it", () => {
  expect(ordered(GRAPH).map(({ service, depth, caller }) => [service.name, depth, caller])).toEqual([
    ["gateway", 0, undefined],
    ["cart", 1, 0],
    ["store", 2, 1],
  ]);
  expect(callers(GRAPH, 0)).toBe("the entry");
  expect(callers(GRAPH, 2)).toBe(`gateway: 2 calls for each request; cart: ${ONCE}`);
});

test("functions on calls to a service are above it, those on its calls below, and a call of a second caller is drawn", () => {
  const scene = services(GRAPH, DATA, new Set(), 900);
  expect(scene.marks.map((mark) => mark.name)).toEqual(["gateway: jwt", "gateway", "gateway: rbac (outbound)", "cart", "store"]);
  expect(of(scene, "circle", "node").map((node) => node.of)).toEqual(["node", "node", "node bare"]);
  expect(of(scene, "path", "call").filter((line) => line.of.includes("other"))).toHaveLength(1);
  expect(scene.marks.every((mark) => mark.y < scene.height)).toBe(true);
});

test("a function is switched by its mark, and says that it is off", () => {
  const scene = services(GRAPH, DATA, new Set(["gateway: jwt"]), 900);
  expect(of(scene, "rect", "step").map((one) => one.of)).toEqual(["step off", "step part"]);
  expect(scene.marks[0]).toMatchObject({ id: "gateway: jwt", values: ["+0.2 ±0.01 cores", expect.anything(), "switched off"] });
  expect(scene.marks[1]?.id).toBeUndefined();
  expect(servicesTable(GRAPH, DATA, new Set(["gateway: jwt"]))[1]).toEqual(["gateway", "the entry", "yes", "gateway: jwt (switched off)", "gateway: rbac (outbound)"]);
});

test("a deep graph fits a phone", () => {
  const chain = Array.from({ length: 40 }, (_, place) => ({ name: `service-${place}`, has_proxy: true, calls: place < 39 ? [{ to: place + 1, text: ONCE }] : [], inbound: [], outbound: [] }));
  const scene = services({ title: "chain", services: chain }, DATA, new Set(), 360);
  expect(Math.max(...of(scene, "circle", "node").map((node) => node.x))).toBeLessThan(0.5 * 360);
});
