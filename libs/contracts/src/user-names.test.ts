import assert from "node:assert/strict";
import { test } from "node:test";
import { anonymousUser, client, installedUsers, serviceUsers } from "@switchyard/topology/topology";
import { isService, readsAllEvents, SERVICE_NAMES } from "./user-names.ts";

test("the names of services are those of the users that the topology has for them", () => {
  assert.deepEqual(
    serviceUsers.map(({ name }) => name),
    [...SERVICE_NAMES],
  );
  const found = [...installedUsers, anonymousUser].filter(({ name }) => isService(name));
  assert.deepEqual(
    found.map(({ name }) => name),
    [...SERVICE_NAMES],
  );
});

test("no NATS user has a name that an issuer may give to a person", () => {
  assert.throws(() => client("oidc-ann", "A team"), TypeError);
  assert.equal(client("oidc", "A team").name, "oidc");
});

test("who is said to read everybody's events is who may", () => {
  for (const { name, readsEvents } of [...installedUsers, anonymousUser].filter(
    (user) => !isService(user.name),
  ))
    assert.equal(readsAllEvents(name), readsEvents === "all", name);
});
