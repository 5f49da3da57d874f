import assert from "node:assert/strict";
import { test } from "node:test";
import { discoverAuthorizationServerMetadata, type FetchLike } from "@modelcontextprotocol/client";
import { LoginDocumentError, readingLogin } from "./login-documents.ts";

const SERVER = "https://mcp.example/mcp";
const ISSUER = "https://login.example";
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  response_types_supported: ["code"],
};
type Answers = Readonly<Record<string, unknown>>;

/** Answers by path; a number is a status, a text is a page, everything else is JSON. */
function answering(answers: Answers): FetchLike {
  return (url) => {
    const answer = answers[new URL(url).pathname] ?? 404;
    if (typeof answer === "number") return Promise.resolve(new Response("no", { status: answer }));
    const isText = typeof answer === "string";
    return Promise.resolve(isText ? new Response(answer) : Response.json(answer));
  };
}
const first = "/.well-known/oauth-authorization-server";
const second = "/.well-known/openid-configuration";
const metadataOf = (answers: Answers) =>
  discoverAuthorizationServerMetadata(ISSUER, {
    fetchFn: readingLogin(answering(answers), SERVER),
  });
const post = async (answer: unknown, init: RequestInit = {}, status = 200): Promise<unknown> => {
  const fetch: FetchLike = () =>
    Promise.resolve(
      new Response(typeof answer === "string" ? answer : JSON.stringify(answer), { status }),
    );
  const response = await readingLogin(fetch, SERVER)(`${ISSUER}/x`, { method: "POST", ...init });
  return response.json();
};
const form = { headers: { "content-type": "application/x-www-form-urlencoded" } };

test("each member of the metadata but the three that a login needs may be anything", async () => {
  const members = [
    "scopes_supported",
    "service_documentation",
    "registration_endpoint",
    "jwks_uri",
  ];
  const flags = ["claims_parameter_supported", "client_id_metadata_document_supported"];
  const lists = [
    "response_types_supported",
    "code_challenge_methods_supported",
    "subject_types_supported",
  ];
  for (const name of [...members, ...flags, ...lists])
    for (const value of [null, 5, "", {}, [5]])
      for (const path of [first, second]) {
        const metadata = await metadataOf({ [path]: { ...METADATA, [name]: value } });
        assert.equal(metadata?.token_endpoint, METADATA.token_endpoint, `${name} ${path}`);
      }
});

test("an address without usable metadata is passed over, and named when no other has some", async () => {
  for (const bad of [500, 503, 401, "<html>", "", [], { issuer: ISSUER }]) {
    const metadata = await metadataOf({ [first]: bad, [second]: METADATA });
    assert.equal(metadata?.issuer, ISSUER, JSON.stringify(bad));
  }
  assert.equal(await metadataOf({}), undefined);
  for (const [bad, why] of [
    [500, /oauth-authorization-server: HTTP 500/],
    ["<html>", /oauth-authorization-server: it is not a JSON object/],
    [{ issuer: ISSUER }, /oauth-authorization-server: it has no "authorization_endpoint"/],
  ] as const)
    await assert.rejects(metadataOf({ [first]: bad }), (error) => {
      assert.ok(error instanceof LoginDocumentError);
      assert.match(error.message, why);
      return true;
    });
});

test("the first of several authorization servers that has metadata is used, in its own spelling", async () => {
  const resource = "/.well-known/oauth-protected-resource";
  const servers = ["https://dead.example/tenant", ISSUER, 5];
  const fetch = readingLogin(
    answering({
      [resource]: { resource: null, authorization_servers: servers },
      [first]: { ...METADATA, issuer: `${ISSUER}/` },
    }),
    SERVER,
  );
  const read: any = await (await fetch(`https://mcp.example${resource}`)).json(); // oxlint-disable-line typescript/no-explicit-any -- a test reads any shape
  assert.deepEqual(read.authorization_servers, [ISSUER, "https://dead.example/tenant"]);
  assert.equal(read.resource, SERVER);
  const metadata = await discoverAuthorizationServerMetadata(ISSUER, { fetchFn: fetch });
  assert.equal(metadata?.issuer, ISSUER);
});

test("tokens come in several forms", async () => {
  for (const [answer, read] of [
    [{ scope: null, refresh_token: null, id_token: 5 }, {}],
    [{ token_type: null, expires_in: "60" }, { expires_in: 60 }],
    [{ expires_in: null, scope: ["a", "b"] }, { scope: "a b" }],
    [{ expires_in: "soon", own: 1 }, { own: 1 }],
  ])
    assert.deepEqual(await post({ access_token: "t", ...answer }, form), {
      access_token: "t",
      token_type: "Bearer",
      ...read,
    });
  const asForm: unknown = await post("access_token=t&scope=a%20b&token_type=bearer", form);
  assert.deepEqual(asForm, { access_token: "t", scope: "a b", token_type: "bearer" });
});

test("a refusal of a token keeps its code, and an unusable answer is reported with its address", async () => {
  const refusal = { error: "invalid_grant", error_description: null, error_uri: null };
  const read = await post(refusal, form, 400);
  assert.deepEqual(read, { error: "invalid_grant" });
  for (const [answer, status, why] of [
    ["<html><title>Bad gateway</title>", 502, /token endpoint .*\/x is HTTP 502: Bad gateway/],
    ["[1]", 200, /token endpoint .* is not a JSON object/],
    [{ token: "t" }, 200, /token endpoint .* has no access_token/],
  ] as const)
    await assert.rejects(post(answer, form, status), why);
});

test("a registration needs only a client id", async () => {
  const redirectUris = ["http://127.0.0.1/callback"];
  const asked = { body: JSON.stringify({ redirect_uris: redirectUris }) };
  const nulls = {
    client_secret: null,
    client_secret_expires_at: null,
    contacts: null,
    logo_uri: "",
  };
  assert.deepEqual(await post({ client_id: 5, ...nulls }, asked), {
    client_id: "5",
    redirect_uris: redirectUris,
  });
  await assert.rejects(post({ id: "a" }, asked), /registration endpoint .* has no client_id/);
  await assert.rejects(post("no", asked), /registration endpoint .* is not a JSON object/);
});
