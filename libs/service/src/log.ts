import pino from "pino";
import { redactFields, redactText } from "./redact.ts";

export type Log = pino.Logger;

/**
 * A logger that writes one JSON line per event, to stdout unless a destination is given. Secrets
 * are redacted by key and by shape, in fields, messages, errors and the bindings of child loggers.
 * Writing is synchronous, so the last line before an exit is not lost.
 */
export function createLog(options: {
  service: string;
  level: string;
  instance?: string;
  destination?: pino.DestinationStream;
}): Log {
  const settings: pino.LoggerOptions = {
    level: options.level,
    base: {
      service: options.service,
      ...(options.instance === undefined ? {} : { instance: options.instance }),
    },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => redactFields(fields) as Record<string, unknown>, // an object stays an object
    },
    // Errors are already plain objects here, and pino would join the messages of their causes once more.
    serializers: { err: (copy: unknown) => copy },
    hooks: { streamWrite: redactText },
  };
  // pino's own default is asynchronous: lines would be lost, or change places, at an exit.
  const destination = options.destination ?? pino.destination({ dest: STDOUT, sync: true });
  return withRedactedBindings(pino(settings, destination));
}

const STDOUT = 1;

/** pino formats only the bindings of the root. Children inherit this method, and so do theirs. */
function withRedactedBindings(log: Log): Log {
  // oxlint-disable-next-line typescript/unbound-method -- it is applied to the logger it is called on
  const { child } = log;
  const redactingChild = function (this: Log, bindings: object, settings?: object): Log {
    return Reflect.apply(child, this, [{ ...(redactFields(bindings) as object) }, settings]) as Log;
  };
  // Only the type parameter for custom levels, which we do not use, is lost.
  log.child = redactingChild as unknown as typeof child;
  return log;
}
