import { watch, type FSWatcher } from "node:fs";

/** Watches by path, each of one directory. A system that allows no more of them is reported. */
export function fileWatches(onError: (error: unknown) => void) {
  const open = new Map<string, { identity: string; watcher: FSWatcher }>();
  const remove = (path: string): void => {
    open.get(path)?.watcher.close();
    open.delete(path);
  };
  return {
    paths: () => [...open.keys()],
    remove,
    /** False when the path has a watch of the same identity already, or cannot have one. */
    add(
      path: string,
      { identity, directory }: { identity: string; directory: string },
      onChange: (name: string | null) => void,
    ): boolean {
      if (open.get(path)?.identity === identity) return false;
      remove(path);
      try {
        const watcher = watch(directory, { persistent: false }, (_, name) => onChange(name));
        watcher.on("error", onError);
        open.set(path, { identity, watcher });
        return true;
      } catch (error) {
        onError(error);
        return false;
      }
    },
  };
}
