import assert from "node:assert/strict";
import type { lookup } from "node:dns";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { testWorkspace } from "../../test-fixtures/test-workspace.ts";
import { createHtmlTexts } from "../web/html-text.ts";
import { createWebFetch, PAGE_LIMIT_BYTES, TEXT_LIMIT_BYTES } from "./web-fetch.ts";

const { run, context } = await testWorkspace();
const setting = "YARD_WEB_ALLOW_PRIVATE_HOSTS";
/** Reaches this machine, as the test's own servers need. */
const open = createWebFetch(
  createEgressGuard({ permitted: parsePrivateHosts("loopback"), setting }),
  // Less than by default: a page that takes too long keeps a core busy until then.
  createHtmlTexts({ deadlineMs: 2_000 }),
);
/** The tool with default settings. */
const strict = createWebFetch(createEgressGuard({ permitted: parsePrivateHosts(""), setting }));

const requests: string[] = [];
const pages = new Map<string, RequestListener>();
const server = createServer((request, response) => {
  requests.push(request.url ?? "");
  const page = pages.get(request.url ?? "");
  if (page === undefined) response.writeHead(404, { "content-type": "text/plain" }).end("no page");
  else page(request, response);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
after(() => {
  server.closeAllConnections();
  server.close();
});
// The address of a TCP server is never a string.
const { port } = server.address() as AddressInfo;
const at = (path: string): string => `http://127.0.0.1:${port}${path}`;

const answer = (type: string, body: string | Buffer): RequestListener => {
  return (_request, response) => response.writeHead(200, { "content-type": type }).end(body);
};
const redirect = (location: string): RequestListener => {
  return (_request, response) => response.writeHead(302, { location }).end();
};

test("web_fetch returns the text of an HTML page without its tags and scripts", async () => {
  const html = `<html><head><style>p {}</style><script>alert(1)</script></head>
    <body><h1>Title</h1><p>Größe <b>zwei</b> &amp; <a href="https://example.com/x">more</a></p></body></html>`;
  pages.set("/page", answer("text/html; charset=utf-8", html));
  const { structured, text } = await run(open, { url: at("/page") });
  assert.equal(structured["content"], "Title\n\nGröße zwei & more [https://example.com/x]");
  assert.equal(structured["status"], 200);
  assert.ok(text.startsWith(`${at("/page")} answered 200.\n\nTitle`));
});

test("web_fetch reads a page in the encoding of its tags, when the server does not declare one", async () => {
  const tags = [
    `<meta charset="shift_jis">`,
    `<meta http-equiv='Content-Type' content='text/html; charset=Shift_JIS'>`,
  ];
  for (const [index, tag] of tags.entries()) {
    const body = Buffer.concat([
      Buffer.from(`<html>${tag}<p>`),
      Buffer.from([0x93, 0xfa, 0x96, 0x7b]),
    ]);
    pages.set(`/meta-${index}`, answer("text/html", body));
    assert.equal((await run(open, { url: at(`/meta-${index}`) })).structured["content"], "日本");
  }
  const marked = Buffer.from(`\ufeff<p>é</p>`, "utf16le");
  pages.set("/marked", answer("text/html", marked));
  assert.equal((await run(open, { url: at("/marked") })).structured["content"], "é");
});

test("a page whose layout would take minutes ends as an error, and blocks nothing else", async () => {
  pages.set("/wide", answer("text/html", "<table><tr><td colspan=100000>x</td></tr></table>"));
  pages.set("/plain", answer("text/html", "<p>fine</p>"));
  const wide = assert.rejects(
    run(open, { url: at("/wide") }),
    /cannot be turned into text( within 2000 ms|: )/,
  );
  let turns = 0;
  const turning = setInterval(() => (turns += 1), 10);
  await wide;
  clearInterval(turning);
  assert.ok(turns > 10, `the event loop had ${turns} turns`);
  assert.equal((await run(open, { url: at("/plain") })).structured["content"], "fine");
});

test("slow pages of one caller do not delay another, and callers take turns", async () => {
  const ended: string[] = [];
  const fetched = (caller: string, path: string, name: string) =>
    open
      .run(open.input.parse({ url: at(path) }), { ...context, caller })
      .catch(() => null)
      .then(() => ended.push(name));
  const slow = ["slow-1", "slow-2", "slow-3"].map((name) => fetched("noisy", "/wide", name));
  const quick = fetched("quiet", "/plain", "quick");
  await Promise.all([quick, slow[0]]);
  assert.ok(ended.indexOf("quick") <= 1 && !ended.includes("slow-3"), ended.join(", "));
  await Promise.all(slow);
});

test("a call that is cancelled while its page is laid out ends at once", async () => {
  const controller = new AbortController();
  const args = open.input.parse({ url: at("/wide") });
  const running = open.run(args, { ...context, signal: controller.signal });
  setTimeout(() => controller.abort(new Error("the caller has gone")), 300);
  await assert.rejects(running, /has gone/);
  assert.equal((await run(open, { url: at("/plain") })).structured["content"], "fine");
});

test("web_fetch returns other text unchanged, in its own encoding, with the status", async () => {
  pages.set("/data.json", answer("application/json", `{"a":1}`));
  assert.equal((await run(open, { url: at("/data.json") })).structured["content"], `{"a":1}`);
  pages.set("/latin", answer("text/plain; charset=iso-8859-1", Buffer.from([0xe4])));
  assert.equal((await run(open, { url: at("/latin") })).structured["content"], "ä");
  const { text } = await run(open, { url: at("/nowhere") });
  assert.match(text, /answered 404\.\n\nno page/);
  pages.set("/image", answer("image/png", Buffer.from([1, 0])));
  await assert.rejects(run(open, { url: at("/image") }), /is image\/png; only text/);
});

test("web_fetch reaches no private address: not by number, not by name, not by a redirect", async () => {
  const before = requests.length;
  for (const url of [at("/page"), `http://[::1]:${port}/page`, "http://169.254.169.254/latest/"])
    await assert.rejects(
      run(strict, { url }),
      /is not a public address; permit it in YARD_WEB_ALLOW_PRIVATE_HOSTS/,
    );
  await assert.rejects(
    run(strict, { url: `http://localhost:${port}/page` }),
    /is not a public address/,
  );
  assert.equal(requests.length, before);

  pages.set("/away", redirect("http://10.0.0.1/"));
  assert.equal(
    (await run(open, { url: at("/away") })).structured["redirect"],
    "http://10.0.0.1/",
    "reported, not followed",
  );
  pages.set("/file", redirect("file:///etc/passwd"));
  await assert.rejects(run(open, { url: at("/file") }), /is not an http or https URL/);
});

test("a socket connects to the checked addresses of a name, so a name that resolves to a private one is not reached", async () => {
  let asked = 0;
  // A resolver of its own: no name of the public DNS may decide a test.
  const resolve = ((_name: string, _options: object, callback: (...args: unknown[]) => void) => {
    asked += 1;
    callback(null, [{ address: "127.0.0.1", family: 4 }]);
  }) as unknown as typeof lookup;
  const guard = createEgressGuard({ permitted: parsePrivateHosts(""), setting, resolve });
  const before = requests.length;
  const url = `http://rebind.example:${port}/page`;
  await assert.rejects(run(createWebFetch(guard), { url }), /rebind\.example \(127\.0\.0\.1\)/);
  assert.ok(asked > 0);
  assert.equal(requests.length, before);
});

test("a redirect to another host is not followed: the result names its URL, to be decided about in a call of its own", async () => {
  const before = requests.length;
  const target = `http://localhost:${port}/page?q=private`;
  pages.set("/elsewhere", redirect(target));
  const { text, structured } = await run(open, { url: at("/elsewhere") });
  assert.deepEqual(requests.slice(before), ["/elsewhere"]);
  assert.deepEqual({ ...structured }, { url: at("/elsewhere"), status: 302, redirect: target });
  assert.match(
    text,
    /answered 302 and leads to another host: http:\/\/localhost.*\n.*call web_fetch/,
  );
  pages.set("/other-port", redirect(`http://127.0.0.1:1/page`));
  const other = await run(open, { url: at("/other-port") });
  assert.equal(other.structured["redirect"], "http://127.0.0.1:1/page");
});

test("web_fetch follows redirects within a host to their end, but not forever", async () => {
  pages.set("/old", redirect("/page"));
  assert.equal((await run(open, { url: at("/old") })).structured["url"], at("/page"));
  pages.set("/round", redirect("/round"));
  await assert.rejects(run(open, { url: at("/round") }), /redirects more than 5 times/);
});

test("web_fetch cuts long texts and endless pages, reports it, and continues from there", async () => {
  pages.set("/long", answer("text/plain", "ä".repeat(TEXT_LIMIT_BYTES)));
  const { structured, text } = await run(open, { url: at("/long") });
  assert.equal(structured["bytes"], TEXT_LIMIT_BYTES);
  assert.match(text, /\[truncated: bytes 0 to 51200 of 102400; continue with offset 51200\]$/);
  const rest = await run(open, { url: at("/long"), offset: TEXT_LIMIT_BYTES });
  assert.equal(rest.structured["truncated"], false);

  pages.set("/endless", (_request, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
    };
    response.on("drain", more);
    more();
  });
  const endless = await run(open, { url: at("/endless") });
  assert.equal(endless.structured["size"], PAGE_LIMIT_BYTES);
  assert.match(endless.text, /\[only the first 2097152 bytes of the page were read\]$/);
});

test("web_fetch explains what is wrong with a URL, and ends with its call", async () => {
  await assert.rejects(run(open, { url: "page" }), /is not a URL/);
  await assert.rejects(run(open, { url: "ftp://example.com/" }), /not an http or https URL/);
  await assert.rejects(run(open, { url: "http://a:b@example.com/" }), /name or a password/);
  await assert.rejects(run(open, { url: "http://127.0.0.1:1/" }), /cannot be reached: /);
  const controller = new AbortController();
  pages.set("/silent", () => controller.abort(new Error("the caller has gone")));
  const args = open.input.parse({ url: at("/silent") });
  await assert.rejects(open.run(args, { ...context, signal: controller.signal }), /has gone/);
});
