import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type DriverInfo, DriverInfoSchema } from "../../gen/mooring/v1/driver_pb.js";
import { CODE_ITEMS, SHARE_ITEMS } from "../../src/client/share-text.ts";
import { mountsOf, otherItems, shareItem } from "../../src/console/mounts/share-links.ts";
import { NO_SITE } from "../../src/console/records/chosen-sites.ts";
import { builtIn } from "../drivers/sample.ts";

function driver(name: string, ...required: string[]): (...optional: string[]) => DriverInfo {
  const item = (isRequired: boolean) => (each: string) => ({
    name: each,
    type: "string",
    required: isRequired,
  });
  return (...optional) =>
    create(DriverInfoSchema, {
      config: { name },
      additional: [...required.map(item(true)), ...optional.map(item(false))],
    });
}

const read = (info: DriverInfo, text: string, values = {}) => {
  const { mounts, refused } = mountsOf(text, {
    info,
    path: "/shares/{name}",
    values,
    sites: NO_SITE,
  });
  return {
    mounts: mounts.map(({ name, mountPath, driver, config }) => [name, mountPath, driver, config]),
    refused,
  };
};

test("each link becomes a new mount, with its code from the text after it or its query", () => {
  const info = driver("PikPakShare", "share_id")("share_pwd");
  const text = [
    "https://mypikpak.com/s/VNabc",
    "",
    "  https://mypikpak.com/s/_d-ef/folder\tx9y8 ",
    "https://mypikpak.com/s/ghi?pwd=1234#top",
    "链接: https://mypikpak.com/s/jkl 提取码：a:bc 复制",
  ].join("\r\n");
  const of = (name: string, config: object) => [name, `/shares/${name}`, "PikPakShare", config];
  expect(read(info, text)).toEqual({
    mounts: [
      of("VNabc", { share_id: "VNabc" }),
      of("d-ef", { share_id: "_d-ef", share_pwd: "x9y8" }),
      of("ghi", { share_id: "ghi", share_pwd: "1234" }),
      of("jkl", { share_id: "jkl", share_pwd: "a:bc" }),
    ],
    refused: [],
  });
  expect(
    mountsOf(text, { info, path: "/{name}", values: {}, sites: NO_SITE }).mounts[0]?.expectedEtag,
  ).toBe("0");
});

test("lines without a link are listed with the reason", () => {
  const info = driver("115 Share", "share_code", "receive_code")();
  const text = [
    "sw123 abcd",
    "https://115.com/home",
    "https://115.com/s/sw1",
    "https://115.com/s/sw2?password=ab12",
    "https://115cdn.com/s/sw2?password=ab12",
  ].join("\n");
  const { mounts, refused } = read(info, text);
  expect(mounts.map(([, , , config]) => config)).toEqual([
    { share_code: "sw2", receive_code: "ab12" },
  ]);
  expect(refused).toEqual([
    { line: 1, problem: "noAddress" },
    { line: 2, problem: "noShare" },
    { line: 3, problem: "noCode" },
    { line: 5, problem: "repeated" },
  ]);
});

test.each([
  ["surl", "https://pan.baidu.com/s/1AbCd?pwd=9999", { surl: "AbCd", pwd: "9999" }],
  ["surl", "https://pan.baidu.com/share/init?surl=AbCd", { surl: "AbCd" }],
  [
    "sid",
    "https://a.example/base/@s/x1 pw",
    { sid: "x1", pwd: "pw", url: "https://a.example/base" },
  ],
  ["sharekey", "https://www.123pan.com/s/ab-cd.html", { sharekey: "ab-cd" }],
])("%s is read from %s", (item, link, config) => {
  const info = driver("Share", item)("url", "pwd");
  expect(read(info, link).mounts[0]?.[3]).toEqual(config);
});

test("required items that links do not contain are entered once", () => {
  const info = driver("AliyundriveShare", "refresh_token", "share_id")("share_pwd");
  expect(otherItems(info, {}).map(({ name }) => name)).toEqual(["refresh_token"]);
  const { mounts } = read(info, "https://www.alipan.com/s/ab", { refresh_token: "r" });
  expect(mounts[0]?.[3]).toEqual({ share_id: "ab", refresh_token: "r" });
  expect(otherItems(driver("OpenListShare", "url", "sid")("pwd"), {})).toEqual([]);
  expect(shareItem(driver("WebDav", "address", "url")())).toBeUndefined();
});

test("offered drivers of the catalogue have the items that a link sets", () => {
  const offered = builtIn.drivers.flatMap((info) => {
    const item = Object.keys(SHARE_ITEMS).find((name) =>
      info.additional.some((each) => each.name === name),
    );
    const code = [...CODE_ITEMS].find((name) => info.additional.some((each) => each.name === name));
    return item === undefined ? [] : [[info.config.name, item, code]];
  });
  expect(offered.toSorted()).toEqual([
    ["115 Share", "share_code", "receive_code"],
    ["123PanShare", "sharekey", "sharepassword"],
    ["AliyundriveShare", "share_id", "share_pwd"],
    ["BaiduShare", "surl", "pwd"],
    ["DoubaoShare", "share_ids", undefined],
    ["LenovoNasShare", "share_id", "share_pwd"],
    ["OpenListShare", "sid", "pwd"],
    ["PikPakShare", "share_id", "share_pwd"],
  ]);
});
