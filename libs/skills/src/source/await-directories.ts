import { existsSync } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { fileWatches } from "./file-watches.ts";

/**
 * Notifies when a directory is created, or the next one on the path to it. In the directory that exists already only events for
 * that next name count: it may be a person's home, which changes all the time. The returned function lists the directories that
 * are awaited; call it again after each reported step.
 */
export function awaitDirectories(options: {
  readonly onCome: () => void;
  readonly onError: (error: unknown) => void;
}): (paths: readonly string[]) => void {
  const waits = fileWatches(options.onError);

  function add(path: string): void {
    const parent = nearestDirectory(path);
    const [next = ""] = relative(parent, path).split(sep);
    const isNew = waits.add(path, { identity: parent, directory: parent }, (name) => {
      if (name === null || name === next) options.onCome();
    });
    // The directory may have been created before the watch began.
    if (isNew && (existsSync(path) || nearestDirectory(path) !== parent)) options.onCome();
  }

  return (paths) => {
    for (const path of waits.paths()) if (!paths.includes(path)) waits.remove(path);
    for (const path of paths) add(path);
  };
}

function nearestDirectory(path: string): string {
  let at = dirname(path);
  while (at !== dirname(at) && !existsSync(at)) at = dirname(at);
  return at;
}
