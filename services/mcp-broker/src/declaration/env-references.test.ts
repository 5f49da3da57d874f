import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { resolveServer, UnsetVariableError } from "./env-references.ts";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import { parseServerFile } from "@switchyard/project/mcp-servers/server-file";

function config(entry: object): ServerConfig {
  const text = JSON.stringify({ servers: [{ id: "x", ...entry }] });
  const [parsed] = parseServerFile(text, "f.json").entries;
  assert.ok(parsed?.config, parsed?.problem ?? "");
  return parsed.config;
}

test("resolves references in command, args, env and cwd when it connects [A31]", () => {
  const server = config({
    command: "${BIN}/run",
    args: ["--at", "${A}:${B}"],
    env: { TOKEN: "${B}" },
    cwd: "${A}",
  });
  assert.deepEqual(resolveServer(server, { BIN: "/opt", A: "/data", B: "secret" }).launch, {
    transport: "stdio",
    command: "/opt/run",
    args: ["--at", "/data:secret"],
    env: { TOKEN: "secret" },
    cwd: "/data",
    sandbox: null,
  });
});

test("resolves references in url and headers [A31]", () => {
  const server = config({ url: "https://${HOST}/mcp", headers: { Authorization: "Bearer ${T}" } });
  assert.deepEqual(resolveServer(server, { HOST: "example.com", T: "secret" }).launch, {
    transport: "http",
    url: "https://example.com/mcp",
    headers: { Authorization: "Bearer secret" },
    oauth: null,
  });
});

test("resolves the references of a login, the secret too, and hides both [A31]", () => {
  const server = config({
    url: "https://a.example/mcp",
    oauth: { clientId: "${ID}", clientSecret: "${SECRET}" },
  });
  const resolved = resolveServer(server, { ID: "client-1", SECRET: "canary" });
  const { launch } = resolved;
  assert.deepEqual(launch.transport === "http" ? launch.oauth : null, {
    clientId: "client-1",
    clientSecret: "canary",
    clientMetadataUrl: null,
    scope: null,
    namesResource: true,
  });
  assert.equal(resolved.redact("canary of client-1"), "${SECRET} of ${ID}");
});

test("an unset variable is an error that names it and its place, not an empty string [AR7]", () => {
  const server = config({ command: "a", env: { TOKEN: "${GITHUB_TOKEN}" } });
  assert.throws(
    () => resolveServer(server, {}),
    (error) =>
      error instanceof UnsetVariableError &&
      error.message.startsWith(
        'server x: environment variable GITHUB_TOKEN is not set (used in "env.TOKEN")',
      ),
  );
});

test("a default replaces a variable that is unset or empty", () => {
  const server = config({ command: "a", args: ["${A:-one}", "${B:-two}", "${C:-}"] });
  const { launch } = resolveServer(server, { B: "" });
  assert.deepEqual(launch.transport === "stdio" && launch.args, ["one", "two", ""]);
});

test("resolves once: a value that looks like a reference stays as it is", () => {
  const server = config({ command: "${A}" });
  const { launch } = resolveServer(server, { A: "${B}", B: "deeper" });
  assert.equal(launch.transport === "stdio" && launch.command, "${B}");
});

test("leaves text that is not a reference alone", () => {
  const server = config({ command: "$A ${} ${1} ${a b}" });
  const { launch } = resolveServer(server, {});
  assert.equal(launch.transport === "stdio" && launch.command, "$A ${} ${1} ${a b}");
});

test("takes references as other clients write them, and references in a default [A31]", () => {
  const server = config({
    command: "a",
    args: ["${env:A}", "${X:-${A}/b}", "${X:-${Y:-z}}", "${open", "${a ${A}}"],
  });
  const resolved = resolveServer(server, { A: "value" });
  const { launch } = resolved;
  assert.deepEqual(launch.transport === "stdio" && launch.args, [
    "value",
    "value/b",
    "z",
    "${open",
    "${a value}",
  ]);
  assert.equal(resolved.redact("value"), "${A}");
});

for (const reference of ["${input:token}", "${A:?not set}", "${command:x.y}", "${A:=b}"]) {
  test(`${reference} is an error and no text that is sent as it is [A31, AR7]`, () => {
    const server = config({ command: "a", env: { TOKEN: reference } });
    assert.throws(
      () => resolveServer(server, { A: "" }),
      (error) =>
        error instanceof UnsetVariableError &&
        /\(used in "env.TOKEN"\) is not known here/.test(error.message) &&
        !error.message.includes("not set)"),
    );
  });
}

test("references in references end somewhere", () => {
  const deep = "${A:-".repeat(9_000);
  const server = config({ command: "a", args: [deep + "}".repeat(9_000)] });
  assert.throws(() => resolveServer(server, {}), UnsetVariableError);
  const open = config({ command: "a", args: ["${a".repeat(19_000)] });
  assert.equal(resolveServer(open, {}).launch.transport, "stdio");
});

test("redaction puts the reference in the place of every secret, longest first", () => {
  const server = config({ command: "a", env: { A: "${SHORT}", B: "${LONG}" } });
  const resolved = resolveServer(server, { SHORT: "abcd", LONG: "abcd-efgh" });
  assert.equal(resolved.redact("abcd-efgh and abcd"), "${LONG} and ${SHORT}");
});

test("no text keeps a secret after redaction [A31]", () => {
  const server = config({ command: "a", env: { A: "${SECRET}" } });
  fc.assert(
    fc.property(fc.string({ minLength: 8 }), fc.array(fc.string()), (secret, parts) => {
      const resolved = resolveServer(server, { SECRET: secret });
      fc.pre(!"${SECRET}".includes(secret));
      const shown = resolved.redact(parts.join(secret));
      // A secret may only reappear where the text beside it runs into the reference.
      assert.ok(!shown.replaceAll("${SECRET}", "\0").includes(secret));
    }),
  );
});

test("leaves no rest of a value at the beginning of a stream's end [A31]", () => {
  const server = config({ command: "x", env: { A: "${A}", B: "${B}" } });
  const secret = fc.stringMatching(/^[a-z0-9\n]{8,40}$/);
  fc.assert(
    fc.property(
      secret,
      secret,
      fc.stringMatching(/^[A-Z ]{0,30}$/),
      fc.nat(),
      (A, B, rest, cut) => {
        const resolved = resolveServer(server, { A, B });
        const text = `${A.slice(cut % A.length)}|${rest}|${B}`;
        const shown = resolved.redactTail({ text, isCut: true });
        fc.pre(!A.includes(B) && !B.includes(A));
        assert.equal(shown, `|${rest}|\${B}`);
      },
    ),
  );
});
