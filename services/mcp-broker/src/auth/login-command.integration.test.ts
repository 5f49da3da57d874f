import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { testDirectory } from "@switchyard/testing/test-servers";
import { oauthWorld } from "../../test-fixtures/oauth-world.ts";
import { testWorld } from "../../test-fixtures/test-broker.ts";

const [world, oauth, directory] = await Promise.all([testWorld(), oauthWorld(), testDirectory()]);
const YARD = fileURLToPath(new URL("../../../../apps/cli/src/main.ts", import.meta.url));

/** A process of the command, as a person or a script runs it. */
function yard(...args: string[]) {
  const child = spawn(process.execPath, [YARD, "mcp", ...args], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      HOME: directory,
      YARD_STATE_DIR: directory,
      YARD_NATS_URL: world.natsUrl,
      NO_COLOR: "1",
    },
  });
  after(() => child.kill("SIGKILL"));
  const stderr = text(child.stderr);
  const exited = once(child, "close");
  const lines = createInterface({ input: child.stdout });
  const printed: string[] = [];
  lines.on("line", (line) => printed.push(line));
  return {
    /** The first line on stdout. */
    async address(): Promise<string> {
      const [line] = await Promise.race([once(lines, "line"), exited]);
      if (typeof line !== "string") throw new Error(`ended without an address: ${await stderr}`);
      return line;
    },
    type: (line: string) => child.stdin.end(`${line}\n`),
    hangUp: () => child.stdin.end(),
    async end() {
      const [code] = await exited;
      return { code: Number(code), stdout: printed.join("\n"), stderr: await stderr };
    },
  };
}

function assertSecretless(...outputs: { stdout: string; stderr: string }[]): void {
  const shown = outputs.map(({ stdout, stderr }) => `${stdout}\n${stderr}`).join("\n");
  assert.deepEqual(
    oauth.secrets.filter((secret) => shown.includes(secret)),
    [],
  );
}

test("yard mcp login takes the browser's return on loopback, and logout revokes the login", async () => {
  const broker = await world.startBroker({ servers: [{ id: "locked", url: oauth.url }] });
  await broker.until("locked", ({ status }) => status === "error");
  const login = yard("login", "locked");
  // A browser: it follows the authorization server back to the command.
  const page = await fetch(await login.address());
  assert.match(new URL(page.url).hostname, /^127\.0\.0\.1$/);
  assert.match(await page.text(), /You can close this window/);
  const loggedIn = await login.end();
  assert.equal(loggedIn.code, 0, loggedIn.stderr);
  assert.match(loggedIn.stderr, /logged in to locked; it is connected/);
  const echoed = await broker.call("locked", { tool: "echo", args: { message: "in" } });
  assert.equal(echoed.text, "in");

  oauth.revoked.length = 0;
  const loggedOut = await yard("logout", "locked", "--json").end();
  assert.equal(loggedOut.code, 0, loggedOut.stderr);
  const { data } = JSON.parse(loggedOut.stdout) as {
    data: { wasLoggedIn: boolean; revocation: string };
  };
  assert.deepEqual([data.wasLoggedIn, data.revocation], [true, "revoked"]);
  assert.deepEqual(
    oauth.revoked.map(({ wasGood }) => wasGood),
    [true, true],
  );
  const again = await yard("logout", "locked").end();
  assert.match(again.stderr, /there was no login to locked/);
  assertSecretless(loggedIn, loggedOut, again);
  await broker.stop();
});

test("yard mcp login --no-browser takes the pasted address, and refuses what is none of this login", async () => {
  const broker = await world.startBroker({ servers: [{ id: "pasted", url: oauth.url }] });
  await broker.until("pasted", ({ status }) => status === "error");
  const wrong = yard("login", "pasted", "--no-browser");
  const address = await oauth.agree(await wrong.address());
  address.searchParams.set("state", "of-another-login");
  wrong.type(address.href);
  const refused = await wrong.end();
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /the address belongs to another login/);
  assert.equal(broker.info("pasted").status, "error");

  const silent = yard("login", "pasted", "--no-browser");
  await silent.address();
  silent.hangUp();
  const unanswered = await silent.end();
  assert.equal(unanswered.code, 2);
  assert.match(unanswered.stderr, /no address was pasted/);

  const login = yard("login", "pasted", "--no-browser");
  const back = await oauth.agree(await login.address());
  login.type(back.href);
  const loggedIn = await login.end();
  assert.equal(loggedIn.code, 0, loggedIn.stderr);
  assert.match(loggedIn.stderr, /logged in to pasted; it is connected/);

  oauth.revocation = "refuses";
  const loggedOut = await yard("logout", "pasted").end();
  oauth.revocation = "takes";
  assert.equal(loggedOut.code, 0, loggedOut.stderr);
  assert.match(loggedOut.stderr, /logged out of pasted; revoking its tokens failed/);
  assertSecretless(refused, loggedIn, loggedOut);
  await broker.stop();
});
