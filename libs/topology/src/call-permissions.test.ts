import assert from "node:assert/strict";
import { test } from "node:test";
import { createCallPermissions } from "./call-permissions.ts";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { allContracts, isRpc } from "@switchyard/contracts/registry";
import { client, installedUsers } from "./topology.ts";

const permissions = createCallPermissions();

test("a user may call and serve only what the topology permits", () => {
  for (const { name, calls, serves } of installedUsers)
    for (const contract of allContracts.filter(isRpc)) {
      const isNamed = (list: typeof calls) => list.some((one) => one.name === contract.name);
      assert.equal(permissions.mayCall(name, contract), isNamed(calls), `${name} ${contract.name}`);
      assert.equal(
        permissions.mayServe(name, contract),
        isNamed(serves),
        `${name} ${contract.name}`,
      );
    }
});

test("a user that no installation has may neither call nor serve", () => {
  const { name } = client("team-a", "A team");
  assert.equal(permissions.mayCall(name, callTool), false);
  assert.equal(permissions.mayServe(name, checkPolicy), false);
});
