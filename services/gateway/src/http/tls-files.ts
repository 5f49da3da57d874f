import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import type { Log } from "@switchyard/service/log";
import { readSecretFile } from "@switchyard/service/secret-file";
import { StartError } from "@switchyard/service/start-error";

const TLS_SETTING = "YARD_HTTP_TLS_DIR";

/** Paths of PEM files: the certificate with its intermediates, and its key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface TlsTexts {
  readonly cert: string;
  readonly key: string;
}

/** Reads the files. Throws a StartError when they cannot be read or do not match. */
export async function readTls(files: TlsFiles): Promise<TlsTexts> {
  const [cert, key] = await Promise.all([
    readSecretFile(files.cert, TLS_SETTING),
    readSecretFile(files.key, TLS_SETTING),
  ]);
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    throw new StartError(`${files.cert} and ${files.key} are no certificate and its key`, {
      hint: "tls.crt is a chain and tls.key its key without a passphrase, both PEM",
      cause,
    });
  }
  return { cert, key };
}

/**
 * Polls the files, since a renewed certificate replaces them; new connections use it. Unusable files, such as a certificate
 * whose key is not there yet, change nothing. Returns a function that stops the polling.
 */
export function followTls(
  server: Pick<Server, "setSecureContext">,
  { files, texts, everyMs, log }: { files: TlsFiles; texts: TlsTexts; everyMs: number; log: Log },
): () => void {
  let inUse = texts;
  let refused = "";
  const look = async (): Promise<void> => {
    try {
      const now = await readTls(files);
      refused = "";
      if (now.cert === inUse.cert && now.key === inUse.key) return;
      server.setSecureContext(now);
      inUse = now;
      log.info("certificate renewed");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== refused) log.error({ reason }, "certificate not renewed");
      refused = reason;
    }
  };
  const timer = setInterval(() => void look(), everyMs);
  return () => clearInterval(timer);
}
