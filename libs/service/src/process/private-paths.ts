import { delimiter, dirname, join } from "node:path";

/** The paths at which people and coding agents store credentials. */
const OF_HOME =
  ".ssh .aws .azure .config .docker .gnupg .kube .netrc .npmrc .pypirc .git-credentials .claude .claude.json .codex .gemini .local/share/keyrings .local/share/opencode .local/state/switchyard".split(
    " ",
  );
/** Sockets of services that act with more rights than their caller. */
const OF_MACHINE =
  "/run/docker.sock /run/containerd /run/podman /run/dbus /run/systemd/private /run/user".split(
    " ",
  );

/** A directory that all users share: for a key in it only the file is private. */
const SHARED = new Set(
  "/ /etc /home /media /mnt /opt /root /run /run/secrets /srv /tmp /usr /usr/local /var /var/run".split(
    " ",
  ),
);

/** The files of the service and of the machine's user that a program started by a service must not see. */
export interface PrivatePaths {
  /** Keys, passwords and other files of the service's own, and the files beside its keys. */
  readonly secret: string[];
  /** Usual paths of credentials; a program may need one of them. */
  readonly personal: string[];
}

/**
 * Collected from the environment of the service: each variable `YARD_…_FILE` names a file of its own, `YARD_KEYS_DIR` its keys, and
 * `YARD_PRIVATE_PATHS` more paths, with the separator of PATH, where `yard dev` has its keys and data.
 */
export function privatePaths(
  env: Readonly<Record<string, string | undefined>>,
  home: string,
): PrivatePaths {
  const files = Object.entries(env).flatMap(([name, path = ""]) => {
    if (path === "" || !/^YARD_.*_FILE$/.test(name)) return [];
    return [isOfKey(name) ? besideOf(path) : path];
  });
  const named = [env["YARD_KEYS_DIR"] ?? "", ...(env["YARD_PRIVATE_PATHS"] ?? "").split(delimiter)];
  return {
    secret: [...files, ...named.filter((path) => path !== "")],
    personal: [...OF_HOME.map((name) => join(home, name)), ...OF_MACHINE],
  };
}

function isOfKey(name: string): boolean {
  return /_(?:NKEY|KEY|TOKEN)_FILE$/.test(name);
}

/** Keys of other services are in the same directory, unless that is one of the system's. */
function besideOf(path: string): string {
  const directory = dirname(path);
  return SHARED.has(directory) ? path : directory;
}
