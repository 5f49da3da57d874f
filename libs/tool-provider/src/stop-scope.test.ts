import assert from "node:assert/strict";
import { test } from "node:test";
import type { StopScope } from "@switchyard/contracts/policy/policy-budgets";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { RUN_TOKEN_AUDIENCE, RUN_TOKEN_ISSUER } from "@switchyard/contracts/policy/run-token";
import {
  createRunTokenKey,
  createRunTokenSigner,
  runTokenKeyId,
} from "@switchyard/service/run-token";
import { isAbout } from "./stop-scope.ts";

const key = await createRunTokenKey();
const sign = await createRunTokenSigner(key.privateJwk);
const token = await sign({
  iss: RUN_TOKEN_ISSUER,
  aud: RUN_TOKEN_AUDIENCE,
  sub: "demo",
  run: "run-1",
  requester: "cli",
  tools: [],
  iat: 1,
  exp: 2,
});
const call = {
  principal: {
    user: "cli",
    agent: "demo",
    runId: "run-1",
    context: { parent: "run-p", between: ["run-b"], root: "run-r", depth: 3 },
  },
  ref: mcpToolRef("files", "read_file"),
  token,
};

test("a stop is about the calls of what it names, and no others", async () => {
  const kid = await runTokenKeyId(key.publicJwk);
  const about: StopScope[] = [
    { kind: "all" },
    { kind: "agent", name: "demo" },
    ...["run-1", "run-p", "run-b", "run-r"].map((name) => ({ kind: "run", name }) as const),
    { kind: "server", name: "files" },
    { kind: "user", name: "cli" },
    { kind: "key", name: kid },
  ];
  const notAbout: StopScope[] = [
    { kind: "agent", name: "demo2" },
    { kind: "run", name: "run-2" },
    { kind: "server", name: "git" },
    { kind: "user", name: "me" },
    { kind: "key", name: "other" },
  ];
  assert.deepEqual(
    about.filter((scope) => !isAbout(scope, call)),
    [],
  );
  assert.deepEqual(
    notAbout.filter((scope) => isAbout(scope, call)),
    [],
  );
});

test("a stop of a run is about the runs below it, too", () => {
  const context = { root: "run-root", parent: "run-parent", depth: 2 };
  const child = { ...call, principal: { ...call.principal, context } };
  for (const name of ["run-root", "run-parent", "run-1"])
    assert.ok(isAbout({ kind: "run", name }, child), name);
  assert.ok(!isAbout({ kind: "run", name: "run-2" }, child));
});
