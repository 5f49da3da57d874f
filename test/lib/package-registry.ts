import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** The body of `npm publish`, https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md, and of what a client gets. */
interface Packument {
  readonly name: string;
  readonly "dist-tags": Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, Version>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

interface Version {
  readonly dist: { readonly tarball: string; readonly integrity: string };
}

/**
 * A registry of npm on loopback that takes packages and gives them, for one scope: like the public one it refuses a version that it has, and a
 * tarball that has not the digest which the client states.
 */
export async function startPackageRegistry(): Promise<{ url: string; stop: () => void }> {
  const published = new Map<string, Packument>();
  const tarballs = new Map<string, Buffer>();
  const publish = async (request: IncomingMessage, name: string): Promise<number> => {
    const { _attachments: files, ...rest } = JSON.parse(await text(request)) as Packument;
    if (rest.name !== name) return 400;
    if (published.has(name)) return 409;
    for (const { dist } of Object.values(rest.versions)) {
      const data = Object.values(files).map((each) => Buffer.from(each.data, "base64"))[0];
      if (data === undefined) return 400;
      const digest = createHash("sha512").update(data).digest("base64");
      if (dist.integrity !== `sha512-${digest}`) return 400;
      tarballs.set(new URL(dist.tarball).pathname, data);
    }
    published.set(name, { ...rest, _attachments: {} });
    return 201;
  };
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    const name = path.slice(1);
    const file = tarballs.get(path);
    const found = published.get(name);
    if (request.method === "PUT")
      void publish(request, name)
        .catch(() => 400)
        .then((status) => response.writeHead(status).end("{}"));
    else if (file !== undefined) response.end(file);
    else if (found !== undefined) response.end(JSON.stringify(found));
    else response.writeHead(404).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // The address of a TCP server is never a string.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
