import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { hasRole } from "@switchyard/contracts/user-roles";
import { createUserKey } from "@switchyard/contracts/policy/user-tokens";
import { testDirectory } from "@switchyard/testing/test-servers";
import { shapeOf } from "../../services/gateway/src/routes/route-shape.ts";
import { routes, type Route } from "../../services/gateway/src/routes/route-table.ts";
import { checkWatches, testAttacks, underLimits, WATCHED, watchOf } from "./attack-table.ts";
import { httpAttacks, send, sendHead, type HttpWorld, type Role } from "./http-attacks.ts";
import { nastyBodies } from "./nasty-bodies.ts";
import { startInstallation } from "./tenants/installation.ts";
import { TEAM_B } from "./tenants/reachable.ts";

// Requests to the HTTP port of an installation with generated users and permissions, and limits for the cost of a single request in
// each service.
const SERVICES = ["gateway", "policy", "importer", "broker", "toolbox", "runner"] as const;
const ROLES: readonly Role[] = ["viewer", "operator", "approver", "admin"];
const MIB = 1024 * 1024;

const installation = await startInstallation(
  Object.fromEntries(SERVICES.map((user) => [user, { ...WATCHED }])),
);
const keyOf = async (roles: Role[]): Promise<string> =>
  (await call(installation.cli, createUserKey, { caller: TEAM_B, roles })).key;
const directory = await testDirectory();
const hooksFile = join(directory, "hooks.json");
await writeFile(hooksFile, JSON.stringify({ hooks: { orders: hook() } }));
const url = await installation.startGateway({
  YARD_HOOKS_FILE: hooksFile,
  HOOK_KEY: await keyOf(["operator"]),
  HOOK_SECRET: `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
  YARD_HTTP_REQUESTS_PER_MINUTE: "1000000",
});
const keys = Object.fromEntries(
  await Promise.all(ROLES.map(async (role) => [role, await keyOf([role])] as const)),
) as HttpWorld["keys"]; // a key for each role
const world: HttpWorld = { url, keys };
const watches = SERVICES.map((user) =>
  watchOf(user, installation.services.get(user) ?? assert.fail(user)),
);

const [gateway = assert.fail(), , importer = assert.fail()] = watches;
await Promise.all(watches.map((watch) => watch.begin()));

function hook() {
  return { agent: "echo", key: "${HOOK_KEY}", secrets: ["${HOOK_SECRET}"] };
}

testAttacks(httpAttacks, { world, watches: [gateway, importer] });

const SHARED = ["model", "input", "messages", "metadata", "tools", "text", "conversation"];
/** Endpoints with bodies besides the routes: path, fields, and size limit of a body. */
const protocols = [
  { path: "/v1/chat/completions", fields: SHARED, size: 4 * MIB },
  { path: "/v1/responses", fields: SHARED, size: 4 * MIB },
  {
    path: "/ag-ui/echo",
    fields: ["threadId", "runId", "messages", "tools", "context", "state", "resume"],
    size: 4 * MIB,
  },
  { path: "/a2a/echo", fields: ["jsonrpc", "id", "method", "params"], size: 4 * MIB },
  { path: "/mcp", fields: ["jsonrpc", "id", "method", "params"], size: 4 * MIB },
  { path: "/tools/invoke", fields: ["tool", "args", "action"], size: 2 * MIB },
];
const faces = [
  ...routes
    .filter(({ method }) => method === "post" || method === "put" || method === "patch")
    .map((route) => ({
      method: route.method.toUpperCase(),
      path: `/api/v1${route.path.replaceAll(/\{\w+\}/g, "key-0123456789abcdef")}`,
      fields: Object.keys(shapeOf(route).fields),
      size: route.bodyLimit ?? MIB,
      role: leastRole(route),
      isOpen: false,
    })),
  // Only the OpenAI API has one right for all requests; the others' depends on the body.
  ...protocols.map(({ path, fields, size }) => {
    const role: Role = "operator";
    return { method: "POST", path, fields, size, role, isOpen: !path.startsWith("/v1/") };
  }),
];

function leastRole({ contract }: Route): Role {
  return ROLES.find((role) => contract.role !== null && hasRole([role], contract.role)) ?? "admin";
}

// All take two minutes, so each face gets one, and each body is tried at several faces.
const isAll = process.env["YARD_TEST_ATTACKS"] === "all";
const PER_FACE = 1;

for (const [at, { method, path, fields, size, role }] of faces.entries())
  test(`no body at ${method} ${path} stops a service or makes it grow, whatever ${role} sends`, async () => {
    const bodies = nastyBodies(fields, size);
    const from = at * PER_FACE;
    const tried = isAll
      ? bodies
      : Array.from({ length: PER_FACE }, (_, more) => bodies[(from + more) % bodies.length]);
    for (const { name, bytes } of tried.filter((one) => one !== undefined))
      await underLimits([gateway], undefined, async () => {
        const answer = await send(`${url}${path}`, { method, key: keys[role], body: bytes() });
        assert.match(answer, /^(?!500 )\d{3} /, name);
        return `${name}, answered ${answer}`;
      });
  });

test("a role that an operation refuses is refused before its body is sent", async () => {
  for (const { method, path, role } of faces.filter(({ isOpen }) => !isOpen))
    for (const other of ROLES.filter((one) => !hasRole([one], role)))
      assert.match(
        await sendHead(
          world,
          (host) =>
            `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${keys[other]}\r\nContent-Type: application/json\r\nContent-Length: ${MIB}`,
        ),
        /^40[34]$/,
        `${other} ${method} ${path}`,
      );
});

test("no service behind the gateway stood still for any of these requests", () =>
  // Their memory grows over all of them, and the first ones compile the code that they need.
  checkWatches(watches, { stallMs: 200, growthMb: Infinity }));
