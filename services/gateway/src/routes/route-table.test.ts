import assert from "node:assert/strict";
import { test } from "node:test";
import { readRequest, type Given } from "./read-request.ts";
import { shapeOf } from "./route-shape.ts";
import { routes } from "./route-table.ts";

/** The routes of the requirements, in full: one that is taken out of the table is missed here. */
const REQUIRED = `
A48 get /mcp/servers mcp.servers
A49 post /mcp/servers mcp.add
A50 delete /mcp/servers/{id} mcp.remove
A51 post /mcp/servers/{id}/connect mcp.connect
A52 post /mcp/servers/{id}/disconnect mcp.disconnect
A53 get /mcp/tools mcp.tools
A54 get /mcp/tools/{server} mcp.tools
B28 get /openclaw/skills skills.list
B28 post /openclaw/import skills.import
B28 post /openclaw/import-directory skills.import
B28 get /openclaw/skills/{id}/instructions skills.render
B28 delete /openclaw/skills/{id} skills.remove
C11 get /mcp mcp.servers
C12 post /mcp mcp.add
C13 put /mcp/{id} mcp.update
C13 put /mcp/servers/{id} mcp.update
C13 patch /mcp/servers/{id} mcp.update
C14 delete /mcp/{id} mcp.remove
C15 post /mcp/{id}/connect mcp.connect
C16 post /mcp/{id}/disconnect mcp.disconnect
C17 get /mcp/{id}/tools mcp.tools
CR6 get /mcp/{id} mcp.get`;

test("each required route is there, for its operation [A48] [A49] [A50] [A51] [A52] [A53] [A54] [B28] [C11] [C12] [C13] [C14] [C15] [C16] [C17] [CR6] [X10]", () => {
  const there = new Set(
    routes.map(({ method, path, contract }) => `${method} ${path} ${contract.name}`),
  );
  for (const line of REQUIRED.trim().split("\n")) {
    const [id = "", ...route] = line.split(" ");
    assert.ok(there.has(route.join(" ")), `${id}: ${route.join(" ")}`);
  }
});

const given: Given = {
  path: {},
  query: new URLSearchParams(),
  body: { value: undefined, isLarge: false },
  idempotencyKey: undefined,
  ifMatch: undefined,
  caller: "cli",
};
const requestAt = (method: string, path: string, more: Partial<Given>): unknown => {
  const route = routes.find((one) => one.method === method && one.path === path);
  assert.ok(route !== undefined, path);
  return readRequest(route, shapeOf(route), { ...given, ...more }).request;
};

test("an OpenClaw client names a skill by its manifest's id, and imports the path of one file [B28]", () => {
  const instructions = "/openclaw/skills/{id}/instructions";
  assert.deepEqual(requestAt("get", instructions, { path: { id: "openclaw-skill-pdf" } }), {
    name: "pdf",
    raw: true,
  });
  assert.deepEqual(requestAt("get", instructions, { path: { id: "pdf" } }), {
    name: "pdf",
    raw: true,
  });
  assert.deepEqual(
    requestAt("delete", "/openclaw/skills/{id}", { path: { id: "openclaw-skill-pdf" } }),
    {
      name: "pdf",
    },
  );
  for (const [path, directory] of [
    ["/skills/pdf/SKILL.md", "/skills/pdf"],
    ["/skills/pdf/skill.md", "/skills/pdf"],
    ["/skills/pdf", "/skills/pdf"],
    ["/skills/SKILL.md.d", "/skills/SKILL.md.d"],
  ]) {
    const body = { value: { path }, isLarge: false };
    assert.deepEqual(requestAt("post", "/openclaw/import", { body }), { directory });
  }
});
