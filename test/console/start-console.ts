import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { startYardDev } from "../lib/yard-dev.ts";
import { launchChromium, watchedPage } from "./chromium.ts";
import type { Constants } from "@switchyard/testing/test-constants";

export interface LookOptions {
  readonly token?: string;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  /** 2: the width for a person who doubled the size of everything. */
  readonly zoom?: number;
  /** Browser permissions of the page. */
  readonly permissions?: readonly string[];
  /** The address at which the gateway is reached instead of its own. */
  readonly at?: string;
}

export interface Look {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Faults of the page. */
  readonly faults: readonly string[];
  /** Opens a path of the console as a link in it does, and waits until there is a view. */
  readonly go: (path: string) => Promise<void>;
  /** Loads the console anew at a path, as a person with a bookmark does. */
  readonly load: (path: string) => Promise<void>;
}

export interface ConsoleOptions {
  readonly project?: string;
  /** Files by their paths in the project, which are added to a copy of it. */
  readonly files?: Readonly<Record<string, string>>;
  /** True: each service is a process of its own, and there are two runners, so runs survive the end of one. */
  readonly apart?: boolean;
  /** Values that replace constants of services. */
  readonly constants?: Constants;
}

async function projectOf(
  directory: string,
  { project = "test/console/project", files }: ConsoleOptions,
): Promise<string> {
  if (files === undefined) return project;
  const copy = join(directory, "project");
  await cp(project, copy, { recursive: true });
  for (const [path, text] of Object.entries(files)) await writeFile(join(copy, path), text);
  return copy;
}

/** A whole Switchyard on a project, with a browser on its console. */
export async function startConsole(executable: string, how: ConsoleOptions = {}) {
  const { apart, constants = {} } = how;
  const directory = await mkdtemp(join(tmpdir(), "yard-console-"));
  const project = await projectOf(directory, how);
  const workspace = join(directory, "workspace");
  await mkdir(workspace);
  await writeFile(join(workspace, "notes.md"), "# Notes\n");
  const dev = await startYardDev({
    project,
    stateDir: join(directory, "state"),
    workspace,
    ...(apart === true && { apart, runners: 2 }),
    // All users here are one caller; two runners that die of a run are enough to give it up.
    env: { YARD_HTTP_REQUESTS_PER_MINUTE: "100000" },
    constants: { runMaxAttempts: 2, ...constants },
  });
  const browser = await launchChromium(executable);
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
  /** A person who signs in with a browser of its own. */
  const look = async (options: LookOptions = {}): Promise<Look> => {
    const { theme = "light", width = 1280, height = 900, zoom = 1, at = dev.httpUrl } = options;
    const context = await browser.newContext({
      viewport: { width: width / zoom, height: height / zoom },
      deviceScaleFactor: zoom,
      permissions: [...(options.permissions ?? [])],
      colorScheme: theme,
      reducedMotion: "reduce",
    });
    const { page, faults } = await watchedPage(context);
    page.setDefaultTimeout(60_000);
    await page.goto(`${at}/#token=${options.token ?? token}`);
    // A key is used only after the person confirms it.
    if (options.token !== undefined && options.token !== token)
      await page.getByRole("button", { name: "Sign in with it" }).click();
    await page.getByTestId("page").waitFor();
    const go = async (path: string): Promise<void> => {
      await page.evaluate(
        `history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
      );
      await page.getByTestId("page").waitFor();
    };
    const load = async (path: string): Promise<void> => {
      await page.goto(`${at}${path}`);
      await page.getByTestId("page").waitFor();
    };
    return { page, context, faults, go, load };
  };
  /** Makes a key of another caller. */
  const keyOf = async (caller: string, roles: readonly string[]): Promise<string> =>
    String((await send("/keys", { caller, roles }))["key"]);
  const stop = async (): Promise<void> => {
    await browser.close();
    await dev.stop();
    await rm(directory, { recursive: true, force: true });
  };
  return { dev, directory, browser, token, send, keyOf, look, stop };
}
