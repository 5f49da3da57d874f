import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { findChromium } from "../test/console/chromium.ts";
import { startConsole } from "../test/console/start-console.ts";
import { Film } from "./console-pictures/film.ts";
import { writeProject } from "./console-pictures/project.ts";

// Makes the pictures of docs/console anew, in the Chromium of the tests: node scripts/console-pictures.ts

const TARGET = new URL("../docs/console/", import.meta.url);
const MOST_BYTES = { picture: 150_000, animation: 600_000 };
const SIZE = { width: 1160, height: 680 };

const chromium = findChromium();
if (chromium === null)
  throw new Error("Chromium is not installed; YARD_CHROMIUM names another one");
const project = await mkdtemp(join(tmpdir(), "yard-pictures-"));
await writeProject(project);
const { look, send, stop } = await startConsole(chromium, { project });
try {
  const runId = await film();
  const lights = await look();
  await lights.go(`/runs/${runId}`);
  await lights.page.getByTestId("timeline").getByText("files › write_file").click();
  await lights.page.getByTestId("decision").waitFor();
  await lights.page.mouse.move(0, 0);
  await lights.page.evaluate("document.querySelector('main').scrollTo(0, 0)");
  await keep(lights.page, "run");
  await lights.go("/tools/mcp__everything__echo");
  await lights.page.getByTestId("field-message").getByRole("textbox").fill("hello from a form");
  await lights.page.locator('[data-testid="policy-would"][data-status="allow"]').waitFor();
  await lights.page.getByTestId("call-tool").click();
  await lights.page.getByTestId("tool-result").waitFor();
  await keep(lights.page, "tools");
  await send("/runs", { agent: "reviewer", input: "What is new?" });
  await lights.go("/approvals");
  await lights.page.locator('[data-testid="approve"]:enabled').waitFor();
  await keep(lights.page, "approvals");
  await lights.go("/");
  await lights.page.getByText(/[1-9] replicas?$/).waitFor();
  await lights.page.getByText(/runs? in the last/).waitFor();
  await keep(lights.page, "overview");
  const dark = await look({ theme: "dark" });
  await dark.go(`/runs/${runId}?view=conversation`);
  await dark.page.getByTestId("tool-card").nth(2).click();
  await keep(dark.page, "conversation-dark");
} finally {
  await stop();
  await rm(project, { recursive: true, force: true });
}

/** A run from the button that starts it to the call that was denied; resolves with its id. */
async function film(): Promise<string> {
  const { page, go } = await look(SIZE);
  await go("/agents/reviewer");
  await page.getByTestId("agent-tools").getByRole("listitem").first().waitFor();
  const shots = await Film.of(page, SIZE);
  await shots.take(900);
  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByLabel("What it is to do").fill("How do the notes begin?");
  await shots.take(1_200);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/\/runs\/cli~/);
  await page.getByTestId("timeline").getByText("started by").waitFor();
  const waits = page.locator('[data-testid="wait"][data-status="approval"]');
  await shots.takeUntil(() => waits.isVisible());
  await shots.take(1_500);
  await waits.getByRole("link", { name: "Decide about the call" }).click();
  await page.getByTestId("approval-detail").getByText('"path": "notes.md"').waitFor();
  await shots.take(1_800);
  await page.getByTestId("approve").click();
  const yes = page.getByTestId("confirm").getByRole("button", { name: /^Approve / });
  await yes.click({ trial: true });
  await shots.take(700);
  await yes.click();
  await page.getByTestId("toast").waitFor();
  await page.getByTestId("toast").getByRole("button").click();
  await page.goBack();
  const over = page.locator('.page-head [data-status="succeeded"]');
  await page.getByTestId("timeline").waitFor();
  await shots.takeUntil(() => over.isVisible());
  await page.getByTestId("timeline").getByText("finished").waitFor();
  await shots.take(1_200);
  await page.getByTestId("timeline").getByText("files › write_file").click();
  await page.getByTestId("decision").waitFor();
  await shots.take(3_500);
  await write("run.webp", await shots.develop(MOST_BYTES.animation), MOST_BYTES.animation);
  return decodeURIComponent(new URL(page.url()).pathname.slice("/runs/".length));
}

async function keep(page: Page, name: string): Promise<void> {
  await page.getByTestId("loading").first().waitFor({ state: "detached" });
  await page.getByTestId("toast").first().waitFor({ state: "detached" });
  await write(`${name}.png`, await page.screenshot(), MOST_BYTES.picture);
}

async function write(name: string, bytes: Buffer, most: number): Promise<void> {
  if (bytes.length > most) throw new Error(`${name} has ${bytes.length} bytes, more than ${most}`);
  await writeFile(new URL(name, TARGET), bytes);
  // oxlint-disable-next-line no-console -- what a script says
  console.log(`${name}: ${bytes.length} bytes`);
}
