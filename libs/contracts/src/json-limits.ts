/**
 * The limits on the JSON of one request or command. Receivers count before they parse: parsing, checking and writing such a document again
 * takes time on the event loop, and no single request may stop a service for longer than 100 ms.
 */
export interface JsonLimits {
  readonly maxBytes: number;
  /** Open objects and arrays at any position. */
  readonly maxDepth: number;
  /** Members of all objects together. */
  readonly maxKeys: number;
  /** Members of objects and elements of arrays, all together. */
  readonly maxValues: number;
}

const MIB = 1024 * 1024;

/** Limits for every request and command whose contract states no others. */
export const REQUEST_LIMITS: JsonLimits = {
  maxBytes: 6 * MIB,
  // The gateway accepts 64 levels, which become part of a request.
  maxDepth: 80,
  maxKeys: 20_000,
  maxValues: 40_000,
};

/** Levels of a body that the gateway accepts. */
export const MAX_BODY_DEPTH = 64;
