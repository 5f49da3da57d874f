import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { startYardDev } from "../lib/yard-dev.ts";
import { findChromium, launchChromium, watchedPage } from "./chromium.ts";

const chromium = findChromium();
/** Why the tests in a browser do not run; false where they do. */
export const skip = chromium === null ? "Chromium is not installed" : false;

interface Look {
  readonly page: Page;
  /** Goes to a path of the console and waits until the view is there. */
  readonly go: (path: string) => Promise<void>;
}

interface LookOptions {
  readonly token?: string;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  /** What the browser lets the page do. */
  readonly permissions?: readonly string[];
  /** Where the gateway is reached in place of its own address. */
  readonly at?: string;
}

/** A whole Switchyard with a browser to look at it. */
async function startWorld(executable: string) {
  const directory = await mkdtemp(join(tmpdir(), "yard-console-"));
  const workspace = join(directory, "workspace");
  await mkdir(workspace);
  await writeFile(join(workspace, "notes.md"), "# Notes\n");
  const dev = await startYardDev({
    project: "test/console/project",
    stateDir: join(directory, "state"),
    workspace,
    // The end of one is no end of runs.
    runners: 2,
    // Everybody here is one caller.
    env: { YARD_HTTP_REQUESTS_PER_MINUTE: "100000" },
  });
  const browser = await launchChromium(executable);
  after(async () => {
    await browser.close();
    await dev.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const token = (await readFile(dev.httpTokenFile, "utf8")).trim();
  const send = async (path: string, body: unknown): Promise<Record<string, unknown>> => {
    const response = await fetch(`${dev.httpUrl}/api/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    assert.ok(response.ok, `${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  /** A person who signs in with a browser of its own; faults of the page fail the test. */
  const look = async (t: TestContext, options: LookOptions = {}): Promise<Look> => {
    const { theme = "light", width = 1280, at = dev.httpUrl } = options;
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      permissions: [...(options.permissions ?? [])],
      colorScheme: theme,
      reducedMotion: "reduce",
    });
    const { page, faults } = await watchedPage(context);
    t.after(async () => {
      await context.close();
      assert.deepEqual(faults, [], "the page has no errors and asks nobody else");
    });
    page.setDefaultTimeout(20_000);
    await page.goto(`${at}/#token=${options.token ?? token}`);
    await page.getByTestId("page").waitFor();
    const go = async (path: string): Promise<void> => {
      await page.goto(`${at}${path}`);
      await page.getByTestId("page").waitFor();
    };
    return { page, go };
  };
  /** A key of somebody else. */
  const keyOf = async (caller: string, roles: readonly string[]): Promise<string> =>
    String((await send("/keys", { caller, roles }))["key"]);
  return { dev, directory, send, keyOf, look };
}

const world = chromium === null ? null : await startWorld(chromium);

/** The one that this file of tests started. */
export const there = (): NonNullable<typeof world> => world ?? assert.fail("no Chromium");
