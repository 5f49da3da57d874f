import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { Result } from "@modelcontextprotocol/client";

/** Answers `roots/list` with directories or `file:` addresses. */
export function rootsResult(roots: readonly string[]): Result {
  return {
    roots: roots.map((root) => {
      const url = root.startsWith("file://") ? new URL(root) : pathToFileURL(root);
      return { uri: url.href, name: basename(decodeURIComponent(url.pathname)) || "/" };
    }),
  };
}
