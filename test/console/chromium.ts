import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

/** First Debian's package without a user interface, which uses half of the processor time for the same pages. */
const NAMES = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome-stable",
  "google-chrome",
];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The Chromium that YARD_CHROMIUM names, or the first one in the PATH; null where there is none. */
export function findChromium(): string | null {
  const named = process.env["YARD_CHROMIUM"];
  if (named !== undefined && named !== "") return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const all = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return all.find((file) => existsSync(file)) ?? null;
}

export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: FLAGS, timeout: 120_000 });
}

/** Faults of a page: its errors, and requests that its policy refused. */
export interface Watched {
  readonly page: Page;
  readonly faults: string[];
}

/** A page whose faults are collected. An intended refusal is not one. */
export async function watchedPage(context: BrowserContext): Promise<Watched> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    const text = message.text();
    const isExpected = /Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE/.test(text);
    if (message.type() === "error" && !isExpected) faults.push(`console: ${text}`);
  });
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol !== "data:" && hostname !== "127.0.0.1") faults.push(`asked ${request.url()}`);
  });
  return { page, faults };
}

const axe = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Violations that axe finds of WCAG 2.2 A and AA, or of a part of its rules, each in a line. */
export async function axeViolations(
  page: Page,
  rules: readonly string[] = WCAG,
): Promise<string[]> {
  const run = `axe.run(document, { runOnly: ${JSON.stringify(rules)}, resultTypes: ["violations"] })`;
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(await axe);
  const result = await page.evaluate<{
    violations: { id: string; nodes: { target: string[] }[] }[];
  }>(run);
  return result.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`,
  );
}
