import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { axeViolations } from "./chromium.ts";
import { skip, there } from "./console-world.ts";

const ROUTES = [
  "/",
  "/runs",
  "/approvals",
  "/chat",
  "/agents",
  "/agents/reader",
  "/skills",
  "/skills/greet",
  "/tools",
  "/tools/mcp__everything__echo",
  "/servers",
  "/servers/files",
  "/schedules",
  "/channels",
  "/channels/loopback/default",
  "/channels/loopback/default?to=ann",
  "/webhooks",
  "/policy?tool=files.write_file&agent=reader",
  "/policy?view=draft",
  "/policy?view=versions",
  "/policy?view=stops",
  "/audit",
  "/system",
  "/not/here",
];

/** A run, a job and a comparison to look at, made once. */
const paths = async (): Promise<readonly string[]> => {
  const run = async (input: string): Promise<string> =>
    String((await there().send("/runs", { agent: "reader", input }))["runId"]);
  const [one, other] = [await run("for axe"), await run("for axe, too")];
  await there().send("/runs", { agent: "careful", input: "notes.md" });
  const asked = await there().send("/runs", { agent: "curious", input: "for axe" });
  const added = (await there().send("/schedules", {
    job: {
      name: "for axe",
      agentId: "reader",
      schedule: { kind: "at", at: "2031-01-31T07:00:00Z" },
      sessionTarget: "isolated",
      payload: { kind: "agentTurn", message: "Look around, and say what you have seen." },
    },
  })) as { job: { id: string } };
  await there().send(`/schedules/${added.job.id}/run`, { mode: "force" });
  // Nobody listens there.
  const target = { url: "http://127.0.0.1:9/", events: ["run.*"] };
  const { webhook } = (await there().send("/webhooks", target)) as { webhook: { id: string } };
  return [
    ...ROUTES,
    `/webhooks/${webhook.id}`,
    `/schedules/${added.job.id}`,
    ...["", "?view=compact", "?view=conversation", "?view=raw"].map(
      (view) => `/runs/${one}${view}`,
    ),
    `/runs/${String(asked["runId"])}`,
    `/compare/${one}/${other}?show=all`,
    "/agents/none-of-this-name",
  ];
};
let made: Promise<readonly string[]> | undefined;

const isWider = (page: Page): Promise<boolean> =>
  page.evaluate(
    "document.documentElement.scrollWidth > innerWidth || document.querySelector('main').scrollWidth > innerWidth",
  );

/** How wide a page is laid out, in its own pixels: the last is 1280 pixels at 200 %. */
const WIDTHS = [1280, 360, 640];
/** A theme is a set of colours: axe finds anything else in every theme. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

test(
  "axe finds nothing on any view in both themes, also at 360 px and at 200 %, and none scrolls sideways",
  { skip },
  async (t) => {
    const { page, go } = await there().look(t);
    for (const path of await (made ??= paths())) {
      await page.emulateMedia({ colorScheme: "light" });
      await go(path);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await page.getByTestId("loading").first().waitFor({ state: "detached" });
        assert.equal(await isWider(page), false, `${path} scrolls sideways at ${width} px`);
        assert.deepEqual(await axeViolations(page), [], `${path} at ${width} px`);
      }
      await page.emulateMedia({ colorScheme: "dark" });
      assert.deepEqual(await axeViolations(page, OF_COLOURS), [], `${path} in the dark theme`);
    }
  },
);

/** Each dialog with where it is and what opens it. */
const DIALOGS = [
  ["/runs", "start-run"],
  ["/servers", "add-server"],
  ["/skills", "import-skills"],
  ["/schedules", "add-job"],
  ["/webhooks", "add-webhook"],
  ["/approvals", "deny"],
  ["/", "open-palette"],
] as const;

for (const theme of ["light", "dark"] as const)
  test(
    `axe finds nothing in dialogs and at the sign-in in the ${theme} theme`,
    { skip },
    async (t) => {
      await (made ??= paths());
      const { page, go } = await there().look(t, { theme });
      for (const [path, button] of DIALOGS) {
        await go(path);
        await page.getByTestId(button).first().click();
        await page.getByRole("dialog").waitFor();
        await page.getByRole("dialog").getByTestId("loading").waitFor({ state: "detached" });
        assert.deepEqual(await axeViolations(page), [], `${button} on ${path}`);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByTestId("sign-in").waitFor();
      assert.deepEqual(await axeViolations(page), [], "signing in");
    },
  );
