import { isIPv4, isIPv6 } from "node:net";

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME =
  /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const DURATION =
  /^P(?:\d+W|(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?)$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/**
 * The formats of texts that can be checked, each in time linear in the text. Those of
 * https://platform.openai.com/docs/guides/structured-outputs#supported-properties, and `uri`, as
 * https://json-schema.org/draft/2020-12/json-schema-validation#section-7.3 defines them.
 */
export const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["date-time", isDateTime],
  ["date", isDate],
  ["time", (text) => TIME.test(text)],
  ["duration", (text) => DURATION.test(text)],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv4", (text) => isIPv4(text)],
  ["ipv6", (text) => isIPv6(text)],
  ["uuid", (text) => UUID.test(text)],
  ["uri", (text) => SCHEME.test(text) && URL.canParse(text)],
]);

function isDateTime(text: string): boolean {
  const [date = "", time = "", ...rest] = text.split(/[Tt ]/);
  return rest.length === 0 && isDate(date) && TIME.test(time);
}

function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  // Day 0 of the next month is the last day of this one.
  return (
    month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
  );
}

function isEmail(text: string): boolean {
  const [local = "", host = "", ...rest] = text.split("@");
  return rest.length === 0 && /^\S{1,64}$/.test(local) && isHostname(host);
}

function isHostname(text: string): boolean {
  return text.length <= 253 && text.split(".").every((label) => LABEL.test(label));
}
