import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { call, client } from "@switchyard/bus/call";
import { follow } from "@switchyard/bus/follow";
import {
  createUserKey,
  issueUserToken,
  listUserKeys,
  revokeUserKey,
  rotateUserKey,
  USER_TOKEN_AUDIENCE,
  userKeyRevoked,
  verifyUserToken,
  type UserTokenClaims,
} from "@switchyard/contracts/policy/user-tokens";
import { RUN_TOKEN_ISSUER } from "@switchyard/contracts/policy/run-token";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { stopCalls } from "@switchyard/contracts/policy/policy-budgets";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import {
  createRunTokenKey,
  createRunTokenSigner,
  createTokenSigner,
} from "@switchyard/service/run-token";
import { USER_TOKEN } from "@switchyard/service/user-token";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { startPolicyWorld } from "../../test/policy-world.ts";

const AUDIENCE = "https://switchyard.example";
const { publicKey, privateKey } = await generateKeyPair("ES256");
const jwks = createServer((_request, response) => {
  void exportJWK(publicKey).then((jwk) =>
    response.end(JSON.stringify({ keys: [{ ...jwk, kid: "one", alg: "ES256" }] })),
  );
});
jwks.listen(0, "127.0.0.1");
await once(jwks, "listening");
after(() => jwks.close());
const address = jwks.address();
assert.ok(typeof address === "object" && address !== null);
const issuer = `http://127.0.0.1:${address.port}`;

const directory = await testDirectory();
const issuersFile = join(directory, "issuers.yaml");
await writeFile(
  issuersFile,
  `issuers:
  - issuer: ${issuer}
    audience: ${AUDIENCE}
    jwksUri: ${issuer}/jwks
    caller: { claim: preferred_username, names: { "Carol@example.com": carol } }
    roles: { claim: groups, values: { devs: [operator], leads: [approver] } }
`,
);
const world = await startPolicyWorld({
  rules: "version: 1\nrules:\n  - { id: all, effect: allow }\n",
  teams: ["team-a"],
});
await writeFile(join(world.keys, "laptop.token"), "yd_this-one-is-a-laptop\n", { mode: 0o600 });
await world.startReplica({ YARD_ISSUERS_FILE: issuersFile });
const gateway = await world.connectAs("gateway");
const broker = await world.connectAs("broker");
const team = await world.connectAs("team-a");
const cliBus = await world.connectAs("cli");
const keys = client(cliBus, { createUserKey, listUserKeys, rotateUserKey, revokeUserKey });
const issue = (credential: string) => call(gateway, issueUserToken, { credential });
const verify = (token: string, storedAt?: number) =>
  call(broker, verifyUserToken, storedAt === undefined ? { token } : { token, storedAt });
const refused = (reason: string) => ({ code: "bad_credential", data: { reason } });
const sole = { tool: builtinToolRef("read_file"), args: {} };

test("an API key is shown once, stored as a digest, and identifies its caller until it is revoked", async () => {
  const revoked: string[] = [];
  follow(cliBus, userKeyRevoked, ({ id }) => revoked.push(id));
  const { key, info } = await keys.createUserKey({
    caller: "alice",
    roles: ["operator"],
    scopes: ["policy.*"],
  });
  assert.match(key, /^yk_[\w-]{43}$/);
  assert.equal(JSON.stringify(await keys.listUserKeys({})).includes(key), false);
  const { token, ...user } = await issue(key);
  assert.deepEqual(
    [user.caller, user.roles, user.scopes, user.credential],
    ["alice", ["operator"], ["policy.*"], info.id],
  );
  assert.ok(Date.parse(user.expiresAt) - Date.now() <= 60_000);
  assert.equal((await verify(token)).caller, "alice");
  await assert.rejects(
    issue(`${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`),
    refused("unknown"),
  );
  await keys.revokeUserKey({ id: info.id });
  await assert.rejects(issue(key), refused("ended"));
  await until(() => Promise.resolve(revoked.includes(info.id)));
});

test("a rotated key overlaps the new one, and a key ends at its own time", async () => {
  const old = await keys.createUserKey({ caller: "bob", roles: ["viewer"], ttlSeconds: 600 });
  const next = await keys.rotateUserKey({ id: old.info.id, overlapSeconds: 1 });
  assert.equal((await issue(next.key)).caller, "bob");
  assert.equal((await issue(old.key)).caller, "bob");
  await until(() =>
    issue(old.key).then(
      () => false,
      () => true,
    ),
  );
  await assert.rejects(issue(old.key), refused("ended"));
  assert.equal((await issue(next.key)).caller, "bob");
});

test("no user can sign in as a service, and only an admin as cli", async () => {
  await assert.rejects(keys.createUserKey({ caller: "runner", roles: ["admin"] }), {
    code: "reserved_caller",
  });
  const { key } = await keys.createUserKey({ caller: "cli", roles: ["operator"] });
  await assert.rejects(issue(key), refused("reserved"));
  const { caller, roles } = await issue("yd_this-one-is-a-laptop");
  assert.deepEqual([caller, roles], ["cli", ["admin"]]);
  await assert.rejects(issue("yd_this-one-is-a-lapto"), refused("unknown"));
});

test("only the gateway may request tokens, and only services may have one verified", async () => {
  for (const bus of [team, cliBus, broker])
    await assert.rejects(call(bus, issueUserToken, { credential: "yd_x" }), { code: "forbidden" });
  for (const bus of [team, cliBus, gateway])
    await assert.rejects(call(bus, verifyUserToken, { token: "x" }), { code: "forbidden" });
  await assert.rejects(call(team, createUserKey, { caller: "x", roles: ["admin"] }), {
    code: "forbidden",
  });
});

const signed = (
  claims: Record<string, unknown>,
  more: { alg?: string; issuer?: string; audience?: string; ends?: string } = {},
) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: more.alg ?? "ES256", kid: "one" })
    .setSubject("u-1")
    .setIssuer(more.issuer ?? issuer)
    .setAudience(more.audience ?? AUDIENCE)
    .setIssuedAt()
    .setExpirationTime(more.ends ?? "10m")
    .sign(privateKey);

test("a JWT of a configured issuer maps to the caller and the roles of its claims", async () => {
  const dave = await issue(
    await signed({ preferred_username: "dave", groups: ["devs", "leads", "others"] }),
  );
  assert.deepEqual(
    [dave.caller, dave.roles, dave.credential],
    ["oidc-dave", ["operator", "approver"], "oidc:u-1"],
  );
  const carol = await issue(
    await signed({ preferred_username: "Carol@example.com", groups: ["devs"] }),
  );
  assert.equal(carol.caller, "carol");
});

test("no name at the issuer makes a person a NATS user or a service, and a token without a name is refused", async () => {
  for (const name of ["team-a", "runner", "cli"]) {
    const { caller } = await issue(await signed({ preferred_username: name, groups: ["devs"] }));
    assert.equal(caller, `oidc-${name}`);
  }
  for (const name of ["", "Dave Smith", undefined])
    await assert.rejects(
      issue(await signed({ preferred_username: name, groups: ["devs"] })),
      refused("caller"),
    );
});

test("a JWT that is forged, too old, for others, of others or unsigned is refused", async () => {
  const claims = { preferred_username: "dave", groups: ["devs"] };
  const other = await generateKeyPair("ES256");
  const forged = await new SignJWT(claims)
    .setProtectedHeader({ alg: "ES256", kid: "one" })
    .setSubject("u-1")
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setExpirationTime("10m")
    .sign(other.privateKey);
  await assert.rejects(issue(forged), refused("signature"));
  await assert.rejects(issue(await signed(claims, { ends: "-1m" })), refused("expired"));
  await assert.rejects(
    issue(await signed(claims, { audience: "somebody else" })),
    refused("claims"),
  );
  await assert.rejects(
    issue(await signed(claims, { issuer: "https://elsewhere.example" })),
    refused("issuer"),
  );
  const good = await signed(claims);
  const [, payload = ""] = good.split(".");
  const none = Buffer.from('{"alg":"none"}').toString("base64url");
  await assert.rejects(issue(`${none}.${payload}.`), refused("signature"));
  // The public key as a shared secret.
  const hmac = await new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256", kid: "one" })
    .setSubject("u-1")
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setExpirationTime("10m")
    .sign(new TextEncoder().encode(JSON.stringify(await exportJWK(publicKey))));
  await assert.rejects(issue(hmac), refused("signature"));
  await assert.rejects(
    issue(await signed({ preferred_username: "Dave Smith", groups: ["devs"] })),
    refused("caller"),
  );
  await assert.rejects(
    issue(await signed({ preferred_username: "dave", groups: ["toString"] })),
    refused("roles"),
  );
});

test("a user token that is forged, too old, of another kind or changed is refused", async () => {
  const now = Math.floor(Date.now() / 1_000);
  const claims: UserTokenClaims = {
    iss: RUN_TOKEN_ISSUER,
    aud: USER_TOKEN_AUDIENCE,
    sub: "cli",
    roles: ["admin"],
    credential: "laptop",
    iat: now - 120,
    exp: now + 60,
  };
  const sign = await createTokenSigner(USER_TOKEN, world.firstKey);
  assert.equal((await verify(await sign(claims))).caller, "cli");
  const expired = await sign({ ...claims, exp: now - 30 });
  await assert.rejects(verify(expired), { code: "invalid_token", data: { reason: "expired" } });
  assert.equal((await verify(expired, (now - 60) * 1_000)).caller, "cli");
  const foreign = await createTokenSigner(USER_TOKEN, (await createRunTokenKey()).privateJwk);
  await assert.rejects(verify(await foreign(claims)), { data: { reason: "signature" } });
  const runToken = await createRunTokenSigner(world.firstKey);
  const ofRun = await runToken({
    iss: RUN_TOKEN_ISSUER,
    aud: "switchyard/tools",
    sub: "demo",
    run: "cli~r1",
    requester: "cli",
    tools: [],
    iat: now,
    exp: now + 60,
  });
  await assert.rejects(verify(ofRun), { data: { reason: "claims" } });
  const asRun = { onBehalfOf: "runner", token: await sign(claims), ...sole };
  await assert.rejects(call(broker, checkPolicy, asRun), { code: "invalid_token" });
});

test("the policy service identifies the gateway's callers itself, with their roles and scopes", async () => {
  const { key } = await keys.createUserKey({
    caller: "alice",
    roles: ["viewer"],
    scopes: ["policy.explain"],
  });
  const { token: userToken } = await issue(key);
  const scope = { kind: "user", name: "nobody" } as const;
  const stop = (options: { userToken?: string }) =>
    call(gateway, stopCalls, { scope, reason: "test" }, options);
  await call(gateway, explainPolicy, { user: "alice", ...sole }, { userToken });
  await assert.rejects(stop({ userToken }), /needs the role admin/);
  await assert.rejects(stop({}), /must say in Yard-User/);
  const { token: admin } = await issue("yd_this-one-is-a-laptop");
  const { stop: made } = await call(
    gateway,
    stopCalls,
    { scope, reason: "test" },
    { userToken: admin, timeoutMs: 30_000 },
  );
  assert.equal(made.by, "cli");
  await assert.rejects(
    call(team, explainPolicy, { user: "cli", ...sole }, { userToken: admin }),
    /only gateway/,
  );
});
