import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
import { builtConsole } from "@switchyard/console/build";
import { testDirectory } from "@switchyard/testing/test-servers";
import type { Page } from "playwright-core";
import { startGatewayWorld } from "../../services/gateway/test/gateway-world.ts";
import { startProvider } from "../../services/gateway/test/oidc-provider.ts";
import { axeViolations, findChromium, launchChromium, watchedPage } from "./chromium.ts";

const chromium = findChromium();
const skip = chromium === null ? "Chromium is not installed" : false;

const GROUPS: Readonly<Record<string, readonly string[]>> = { ann: ["devs"] };

/** A gateway configured with a real OpenID Connect provider, and a browser. */
async function startWorld(executable: string) {
  const url = `http://127.0.0.1:${await freePort()}`;
  const issuer = await startProvider([`${url}/auth/callback`], (name) => GROUPS[name] ?? []);
  const directory = await testDirectory();
  const [issuersFile, secretFile] = [
    join(directory, "issuers.yaml"),
    join(directory, "oidc-client.secret"),
  ];
  await writeFile(secretFile, "a secret of the test", { mode: 0o600 });
  await writeFile(
    issuersFile,
    `issuers:
  - issuer: ${issuer}
    audience: https://switchyard.example
    clientId: switchyard
    jwksUri: ${issuer}/jwks
    roles: { claim: groups, values: { devs: [operator] } }
`,
  );
  const gateways = await startGatewayWorld([], { YARD_ISSUERS_FILE: issuersFile });
  await gateways.startGateway({
    YARD_HTTP_PORT: new URL(url).port,
    YARD_OIDC_ISSUER: issuer,
    YARD_KEYS_DIR: directory,
    YARD_CONSOLE_DIR: await builtConsole(),
  });
  const browser = await launchChromium(executable);
  after(() => browser.close());
  const open = async (t: TestContext): Promise<Page> => {
    const context = await browser.newContext();
    // The provider's own page requests an external font.
    await context.route(/googleapis/, (route) => route.abort());
    const { page, faults } = await watchedPage(context);
    t.after(async () => {
      await context.close();
      const ours = faults.filter((fault) => !fault.includes("googleapis"));
      assert.deepEqual(ours, [], "the page has no errors and calls no other host");
    });
    page.setDefaultTimeout(60_000);
    return page;
  };
  return { url, issuer, open };
}

const world = chromium === null ? null : await startWorld(chromium);

async function signInAs(page: Page, name: string): Promise<void> {
  await page.getByRole("link", { name: "Sign in with your organisation" }).click();
  await page.locator('input[name="login"]').fill(name);
  await page.locator('input[name="password"]').fill("any");
  await page.locator('button[type="submit"]').click();
  await page.locator('button[type="submit"]').click();
}

test(
  "a person signs in at the organisation's provider, comes back to where they were, and signs out",
  { skip },
  async (t) => {
    const { url, issuer, open } = world ?? assert.fail("no Chromium");
    const page = await open(t);
    await page.goto(`${url}/runs?status=failed`);
    await page.getByTestId("sign-in").waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await signInAs(page, "ann");
    await page.getByTestId("page").waitFor();
    assert.equal(page.url(), `${url}/runs?status=failed`);
    const person = page.locator(".person");
    assert.match(await person.innerText(), /oidc-ann\s+operator/);
    assert.equal(await page.evaluate("document.cookie"), "", "no script reads the cookie");
    await searchAndSend(page, url);
    await page.goto(url);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${issuer}/session/end**`);
    await page.goto(url);
    await page.getByTestId("sign-in").waitFor();
  },
);

/** The reference page searches, and sends a request with the cookie of the session, under its own Content-Security-Policy. */
async function searchAndSend(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/api/v1/reference`);
  await page.getByRole("searchbox").fill("returns the user of the credential");
  assert.ok((await page.locator("details[data-path]:visible").count()) < 10);
  const shown = page.locator('details[data-path="/me"]:visible');
  await shown.locator("summary").click();
  await shown.getByRole("button", { name: "Send" }).click();
  await page.getByText('"caller":"oidc-ann"').waitFor();
}

test("a person without a role here sees the reason, and is not let in", { skip }, async (t) => {
  const { url, open } = world ?? assert.fail("no Chromium");
  const page = await open(t);
  await page.goto(url);
  await signInAs(page, "nobody");
  await page.getByText("Not signed in").first().waitFor();
  await page.goto(url);
  await page.getByTestId("sign-in").waitFor();
});
