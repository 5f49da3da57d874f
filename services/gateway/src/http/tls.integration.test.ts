import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { copyFile, rename, writeFile } from "node:fs/promises";
import { request as plainRequest, type IncomingMessage } from "node:http";
import { request } from "node:https";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { connect } from "node:tls";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { Hono } from "hono";
import { generate } from "selfsigned";
import { startGatewayWorld } from "../../test/gateway-world.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { listenHttp } from "./listen.ts";

const NAME = "gateway.test";
const directory = await testDirectory();
const files = { cert: join(directory, "tls.crt"), key: join(directory, "tls.key") };

/** Moves a new pair of files over the old one, as renewal programs do. Returns the certificate. */
async function renew(): Promise<string> {
  const { private: key, cert } = await generate([{ name: "commonName", value: NAME }], {
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: NAME }] }],
  });
  for (const [path, content] of [
    [files.cert, cert],
    [files.key, key],
  ] as const) {
    await writeFile(`${path}.new`, content, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  return cert;
}

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly host?: string;
  readonly key?: string;
}

async function ask(url: string, ca: string, { path, method = "GET", host = NAME, key }: Asked) {
  const { port } = new URL(url);
  const headers = { host, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  const options = { host: "127.0.0.1", port, path, method, headers, ca, servername: NAME };
  const asking = request({ ...options, agent: false });
  asking.end();
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  return {
    status: response.statusCode,
    headers: response.headers,
    json: JSON.parse(await text(response)) as Record<string, unknown>,
  };
}

test("with a certificate the gateway speaks TLS alone: secure cookies, addresses with https, and browsers are instructed to stay with it", async () => {
  const world = await startGatewayWorld();
  const ca = await renew();
  const { url } = await world.startGateway({
    YARD_HTTP_TLS_DIR: dirname(files.cert),
    YARD_HTTP_HOSTS: NAME,
  });
  assert.match(url, /^https:/);
  const { key } = await world.keyOf("alice", ["viewer"]);
  const me = await ask(url, ca, { path: "/api/v1/me", key });
  assert.deepEqual([me.status, me.json["caller"]], [200, "alice"]);
  assert.equal(me.headers["strict-transport-security"], "max-age=31536000");
  const local = await ask(url, ca, { path: "/api/v1/me", key, host: "127.0.0.1" });
  assert.equal(local.status, 200);
  assert.equal(local.headers["strict-transport-security"], undefined);
  const session = await ask(url, ca, { path: "/auth/session", method: "POST", key });
  assert.match(String(session.headers["set-cookie"]), /^__Host-yard-session=.*; Secure/);
  const metadata = await ask(url, ca, { path: "/.well-known/oauth-protected-resource/mcp" });
  assert.equal(metadata.json["resource"], `https://${NAME}/mcp`);
  await assert.rejects(fetch(`${url.replace("https:", "http:")}/livez`));
  const other = await testDirectory();
  const wrong = { YARD_HTTP_TLS_DIR: other };
  await copyFile(files.cert, join(other, "tls.crt"));
  await assert.rejects(
    world.startGatewayProcess(wrong),
    /YARD_HTTP_TLS_DIR: cannot read .*tls\.key/,
  );
  await copyFile(files.cert, join(other, "tls.key"));
  await assert.rejects(world.startGatewayProcess(wrong), /are no certificate and its key/);
});

test("without TLS no browser is instructed to stay with it, and probes need neither a credential nor a known Host", async () => {
  const world = await startGatewayWorld();
  const { url } = await world.startGateway();
  for (const [path, status] of [
    ["/livez", "ok"],
    ["/readyz", "ready"],
  ] as const) {
    const asking = plainRequest(`${url}${path}`, { headers: { host: "10.0.0.7:8080" } }).end();
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    assert.deepEqual(JSON.parse(await text(response)), { status });
    assert.equal(response.headers["strict-transport-security"], undefined);
  }
});

test("a renewed certificate is used for new connections, and one that does not fit its key changes nothing", async () => {
  const first = await renew();
  const app = new Hono<GatewayEnv>();
  app.get("/", (c) => c.json({}));
  const log = createLog({ service: "gateway", level: "fatal" });
  const server = await listenHttp(app, {
    host: "127.0.0.1",
    port: 0,
    tls: { files, log, everyMs: 20 },
  });
  after(() => server.stop());
  const { port } = new URL(server.url);
  const shown = async (): Promise<string> => {
    const socket = connect({ host: "127.0.0.1", port: Number(port), rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const certificate = socket.getPeerX509Certificate();
    socket.destroy();
    return certificate?.fingerprint256 ?? "";
  };
  const fingerprint = (cert: string) => new X509Certificate(cert).fingerprint256;
  assert.equal(await shown(), fingerprint(first));
  const second = await renew();
  await until(async () => (await shown()) === fingerprint(second));
  // The renewal is incomplete: the key is not there yet.
  const third = await generate([{ name: "commonName", value: NAME }]);
  await writeFile(files.cert, third.cert);
  assert.equal((await ask(server.url, second, { path: "/" })).status, 200);
  await writeFile(files.key, third.private);
  await until(async () => (await shown()) === fingerprint(third.cert));
});
