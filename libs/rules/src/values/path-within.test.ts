import assert from "node:assert/strict";
import { posix } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { pathWithin, type Containment } from "./path-within.ts";

const cases: readonly [directory: string, path: string, expected: Containment][] = [
  ["/data", "/data", "inside"],
  ["/data", "/data/", "inside"],
  ["/data", "/data/a/b.txt", "inside"],
  ["/data/", "//data//a/./b", "inside"],
  ["/data", "/data/a/../b", "inside"],
  ["/data", "/other/../data/a", "inside"],
  ["/data", "/../data/a", "inside"],
  ["/", "/anything", "inside"],
  ["/data", "/database", "outside"],
  ["/data", "/Data/a", "outside"],
  ["/data", "/", "outside"],
  ["/data", "/data/../etc/passwd", "outside"],
  ["/data", "/data/a/../../etc", "outside"],
  ["/data", "/data/..", "outside"],
  ["src", "src/a.ts", "inside"],
  [".", "README.md", "inside"],
  [".", "a/../b", "inside"],
  ["./src", "src", "inside"],
  ["src", "docs/a.md", "outside"],
  ["src", "src/../docs", "outside"],
];

for (const [directory, path, expected] of cases) {
  test(`${path} is ${expected} of ${directory}`, () => {
    assert.equal(pathWithin(directory, path), expected);
  });
}

test("a relative path that climbs out of where it starts is unclear", () => {
  for (const path of ["..", "../src/a", "a/../../src", "./../x"]) {
    assert.equal(pathWithin(".", path), "unclear", path);
    assert.equal(pathWithin("/data", path), "unclear", path);
  }
});

test("a relative path is unclear against an absolute directory, and the other way round", () => {
  assert.equal(pathWithin("/data", "a.txt"), "unclear");
  assert.equal(pathWithin("src", "/src/a.txt"), "unclear");
});

test("a path that tools interpret in their own way is unclear", () => {
  const odd = [
    "",
    "~/a",
    "~root/a",
    "$HOME/a",
    "${HOME}/a",
    "/data/%2e%2e/etc",
    "/data/..%2Fetc",
    "/data/.%252e/etc",
    "a%5c..%5cb",
    " /etc/passwd",
    "/data/a ",
    '"/etc/passwd"',
    "'a'",
    "..\\..\\etc",
    "C:/Windows",
    "c:secret",
    "file:///etc/passwd",
    "/data/a\0/../b",
    "/data/a\nb",
    `/data/${"a".repeat(4_096)}`,
  ];
  for (const path of odd) {
    assert.equal(pathWithin("/data", path), "unclear", JSON.stringify(path.slice(0, 40)));
    assert.equal(pathWithin(".", path), "unclear", JSON.stringify(path.slice(0, 40)));
  }
});

const segment = fc.constantFrom("a", "b", "..", ".", "", "data", "etc");

test("an absolute path is inside exactly when its resolved form is", () => {
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 12 }), (segments) => {
      const path = `/${segments.join("/")}`;
      // The platform's own resolution is the oracle.
      const expected = posix.resolve(path).split("/")[1] === "data" ? "inside" : "outside";
      assert.equal(pathWithin("/data", path), expected);
    }),
  );
});
