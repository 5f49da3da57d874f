import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { HOSTS_SETTING } from "../config.ts";
import { AttachmentError, loadAttachments } from "./attachments.ts";

const directory = await testDirectory();
const root = join(directory, "shared");
await mkdir(join(root, "below"), { recursive: true });
await writeFile(join(root, "below", "report.pdf"), "the report");
await writeFile(join(directory, "secret.txt"), "secret");
await symlink(join(directory, "secret.txt"), join(root, "link.txt"));
await symlink(directory, join(root, "out"));

const server = createServer((request, response) => {
  const to = /^\/to\/(.*)$/.exec(request.url ?? "")?.[1];
  if (to !== undefined) response.writeHead(302, { location: decodeURIComponent(to) }).end();
  else if (request.url === "/gone") response.writeHead(404).end();
  else response.writeHead(200, { "content-type": "image/png; x=y" }).end("picture");
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
after(() => server.close());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const load = (source: string, { hosts = "loopback", maxBytes = 100 } = {}) => {
  const guard = createEgressGuard({ permitted: parsePrivateHosts(hosts), setting: HOSTS_SETTING });
  return loadAttachments([{ source }], { guard, roots: [root], maxBytes });
};
const refused = async (source: string, options?: Parameters<typeof load>[1]): Promise<string> => {
  const error = await load(source, options).then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AttachmentError, String(error));
  return error.message;
};

test("a file of an allowed directory is sent with its name, type and digest [F19] [N5]", async () => {
  const [file] = await load(join(root, "below", "report.pdf"));
  assert.deepEqual([file?.name, file?.mimeType], ["report.pdf", "application/pdf"]);
  assert.equal(Buffer.from(file?.bytes ?? []).toString(), "the report");
  assert.match(file?.sha256 ?? "", /^[0-9a-f]{64}$/);
});

test("bytes that are not those of the digest in the request are not sent", async () => {
  const source = join(root, "changing.txt");
  const limits = {
    guard: createEgressGuard({ permitted: parsePrivateHosts(""), setting: HOSTS_SETTING }),
    roots: [root],
  };
  await writeFile(source, "checked");
  const [{ sha256 } = { sha256: "" }] = await loadAttachments([{ source }], {
    ...limits,
    maxBytes: 9,
  });
  const again = () => loadAttachments([{ source, sha256 }], { ...limits, maxBytes: 9 });
  assert.equal((await again()).length, 1);
  await writeFile(source, "changed");
  await assert.rejects(again, /it changed after it was checked/);
});

test("no other file of the machine is sent, and no error reveals which files exist [F19]", async () => {
  const elsewhere = [
    join(directory, "secret.txt"),
    join(root, "link.txt"),
    join(root, "out", "secret.txt"),
    join(root, "..", "secret.txt"),
    join(root, "none.txt"),
    "below/report.pdf",
  ];
  for (const path of elsewhere)
    assert.match(await refused(path), /YARD_CHANNELS_ROOTS alone/, path);
  assert.match(await refused(join(root, "below")), /no regular file/);
  const large = { maxBytes: 5 };
  assert.match(await refused(join(root, "below", "report.pdf"), large), /larger than 5 bytes/);
});

test("a web address is loaded, also through redirects, from public and permitted hosts alone [N5]", async () => {
  const [picture] = await load(`${url}/a/photo.png`);
  assert.deepEqual([picture?.name, picture?.mimeType], ["photo.png", "image/png"]);
  const [moved] = await load(`${url}/to/${encodeURIComponent("/b.png")}`);
  assert.equal(moved?.name, "b.png");
  assert.match(await refused(`${url}/gone`), /its server answers 404/);
  assert.match(await refused(`${url}/x`, { maxBytes: 3 }), /larger than 3 bytes/);
  assert.match(await refused(`${url}/x`, { hosts: "" }), RegExp(HOSTS_SETTING));
  // The target of a redirect is checked, too.
  const inside = encodeURIComponent("http://10.0.0.1/x");
  assert.match(await refused(`${url}/to/${inside}`), RegExp(HOSTS_SETTING));
  for (const source of ["file:///etc/passwd", "data:text/plain,x"])
    assert.match(await refused(source), /must be an http or https URL/);
});
