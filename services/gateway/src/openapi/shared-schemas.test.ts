import assert from "node:assert/strict";
import { test } from "node:test";
import { openApi } from "./openapi.ts";
import { namedSchemas } from "./schema-names.ts";
import { withSharedSchemas } from "./shared-schemas.ts";

type Json = Record<string, unknown>;

const RUN = {
  type: "object",
  properties: {
    runId: { type: "string", description: "The id of the run, as its start answered it" },
    state: { type: "string", enum: ["queued", "running", "done"] },
  },
  required: ["runId"],
};
const LIST = { type: "object", properties: { runs: { type: "array", items: RUN } } };

function answering(schema: Json): Json {
  return { get: { responses: { 200: { content: { "application/json": { schema } } } } } };
}

test("a schema that occurs twice becomes one component, named after its property", () => {
  const shared = withSharedSchemas({
    paths: { "/runs": answering(LIST), "/runs/{runId}": answering(RUN) },
    components: { schemas: { Problem: { type: "object" } } },
  });
  const ref = { $ref: "#/components/schemas/Run" };
  assert.deepEqual(shared, {
    paths: {
      "/runs": answering({ type: "object", properties: { runs: { type: "array", items: ref } } }),
      "/runs/{runId}": answering(ref),
    },
    components: { schemas: { Problem: { type: "object" }, Run: RUN } },
  });
});

test("a schema that occurs once is not moved, and a name that is taken gets the outer one", () => {
  const other = { ...RUN, required: ["runId", "state"] };
  const both = { type: "object", properties: { run: other } };
  const shared = withSharedSchemas({
    paths: {
      "/runs": answering(LIST),
      "/runs/{runId}": answering(RUN),
      "/tools": answering(both),
      "/tools/{name}": answering(other),
    },
    components: { schemas: {} },
  });
  const { schemas } = shared["components"] as { schemas: Json };
  assert.deepEqual(schemas, { Run: RUN, ToolRun: other });
});

test("a schema with a name of its own has it wherever it occurs, and stays beside the null that may stand for it", () => {
  const optional = { type: "object", properties: { latest: { anyOf: [RUN, { type: "null" }] } } };
  const names = new Map([[JSON.stringify(RUN), "RunSummary"]]);
  const paths = { "/runs/{runId}": answering(RUN), "/agents": answering(optional) };
  const shared = withSharedSchemas({ paths, components: { schemas: {} } }, names);
  const ref = { $ref: "#/components/schemas/RunSummary" };
  const latest = { anyOf: [ref, { type: "null" }] };
  assert.deepEqual(shared, {
    paths: {
      "/runs/{runId}": answering(ref),
      "/agents": answering({ type: "object", properties: { latest } }),
    },
    components: { schemas: { RunSummary: RUN } },
  });
});

test("each name that is given to a schema is a component of openapi.json", () => {
  const { schemas = {} } = openApi()["components"] as Record<string, Json>;
  for (const name of Object.keys(namedSchemas))
    assert.ok(name in schemas, `${name} occurs at most once: take it out of schema-names.ts`);
});

test("every reference of openapi.json leads to a component, and every operation has its own id", () => {
  const document = openApi();
  const components = document["components"] as Record<string, Json>;
  const used = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { $ref: ref } = value as Json;
    if (typeof ref === "string") {
      const [, kind = "", name = ""] = /^#\/components\/(\w+)\/(\w+)$/.exec(ref) ?? [];
      assert.ok(components[kind]?.[name] !== undefined, `${ref} leads nowhere`);
      used.add(`${kind}/${name}`);
    }
    for (const inner of Object.values(value)) look(inner);
  };
  look(document);
  for (const name of Object.keys(components["schemas"] ?? {}))
    assert.ok(used.has(`schemas/${name}`), `nothing refers to the component ${name}`);
  const ids = Object.values(document["paths"] as Record<string, Record<string, Json>>).flatMap(
    (methods) => Object.values(methods).map(({ operationId }) => operationId),
  );
  assert.equal(new Set(ids).size, ids.length);
});
