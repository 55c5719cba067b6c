import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readShares, shareFormOf } from "../../src/client/share-text.ts";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import { anyText } from "../any-text.ts";

const drivers = readBuiltIn({ offer: "all" }).drivers;

function read(driver: string, text: string) {
  const info = drivers.find(({ config }) => config.name === driver);
  const items = info?.additional.map(({ name }) => name) ?? [];
  const form = shareFormOf(driver, items);
  if (form === undefined) return expect.unreachable(`${driver} mounts no shares`);
  const needsCode = info?.additional.find(({ name }) => name === form.code)?.required ?? false;
  return readShares(text, form, { needsCode });
}

/** Result in one line: `ID CODE FOLDER`, where `-` is none; a problem is in brackets. */
function shown(driver: string, text: string): string {
  const { shares, refused } = read(driver, text);
  return [
    ...shares.map(({ id, code, folder }) => [id, code || "-", folder || "-"].join(" ")),
    ...refused.map(({ line, problem }) => `[${line} ${problem}]`),
  ].join(", ");
}

const BAIDU = "https://pan.baidu.com/s/1aB-c_9";
const ALI = "https://www.alipan.com/s/aBcDeF12345";
const PIKPAK = "https://mypikpak.com/s/VNabcdefghijklmnopqrstuvo1";
const FOLDER = "65a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3";
const D115 = "https://115.com/s/swabc123x7";
const D123 = "https://www.123pan.com/s/ab12-cDeF3";

describe("a pasted line", () => {
  test.each([
    // Codes in the link.
    ["BaiduShare", `${BAIDU}?pwd=a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}?pwd=a1b2 some sentence`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}?pwd=a1b2 复制这段内容打开App`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}?pwd=a1b2#某个标题 1080`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}?pwd=a1b2 提取码：zzzz`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU} ?pwd=a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}？pwd=a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}?pwd=a1b2。谢谢`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `（${BAIDU}?pwd=a1b2）`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `[书](${BAIDU}?pwd=a1b2)`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `<${BAIDU}?pwd=a1b2>`, "aB-c_9 a1b2 -"],
    ["BaiduShare", "https://pan.baidu.com/share/init?surl=aB-c_9&pwd=a1b2", "aB-c_9 a1b2 -"],
    ["BaiduShare", "https://pan.baidu.com/share/init?surl=aB-c_9&amp;pwd=a1b2", "aB-c_9 a1b2 -"],
    ["115 Share", `${D115}?password=w4x5&#`, "swabc123x7 w4x5 -"],
    ["115 Share", `${D115}?password=w4x5#剧集 第一季`, "swabc123x7 w4x5 -"],
    ["115 Share", "https://115cdn.com/s/swabc123x7?password=w4x5", "swabc123x7 w4x5 -"],
    ["115 Share", "https://anxia.com/s/swabc123x7?password=w4x5", "swabc123x7 w4x5 -"],
    ["AliyundriveShare", `${ALI}?pwd=c3d4`, "aBcDeF12345 c3d4 -"],
    // Labels.
    ["BaiduShare", `链接: ${BAIDU} 提取码: a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `链接：${BAIDU} 提取码：a1b2 复制后打开`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}（提取码：a1b2）`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}(提取码:a1b2)`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}【提取码】a1b2`, "[1 unclearCode]"],
    ["BaiduShare", `${BAIDU} 提取码【a1b2】`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU} 提取码a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU} 提取码1234`, "aB-c_9 1234 -"],
    ["BaiduShare", `${BAIDU} 提取码：ａ１ｂ２`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}，提取码是a1b2，请查收`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}|提取码:a1b2|书`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU} 提取码：a1b2复制这段内容`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU} 密码1：a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU} pwd: a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU} Code：a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU} password protected by nobody`, "aB-c_9 - -"],
    ["123PanShare", `${D123}.html提取码:q1w2`, "ab12-cDeF3 q1w2 -"],
    ["123PanShare", `${D123}.html?提取码:q1w2`, "ab12-cDeF3 q1w2 -"],
    ["123PanShare", `${D123} 提取码:q1w2`, "ab12-cDeF3 q1w2 -"],
    ["123PanShare", "https://www.123684.com/s/ab12-cDeF3?pwd=q1w2#", "ab12-cDeF3 q1w2 -"],
    ["115 Share", `${D115}\n访问码：w4x5`, "swabc123x7 w4x5 -"],
    ["115 Share", `书名 ${D115} 访问码:w4x5#`, "swabc123x7 w4x5 -"],
    [
      "LenovoNasShare",
      "https://siot-share.lenovo.com.cn/s/#/Ss.Ab12cdEf 提取码：fr0w",
      "Ss.Ab12cdEf fr0w -",
    ],
    [
      "LenovoNasShare",
      "https://siot-share.lenovo.com.cn/s/#/Ss.Ab12cdEf fr0w",
      "Ss.Ab12cdEf fr0w -",
    ],
    // Codes before the link.
    ["BaiduShare", `提取码：a1b2 链接：${BAIDU}`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `a1b2 ${BAIDU}`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `2024 ${BAIDU}`, "[1 unclearCode]"],
    ["BaiduShare", `提取码：a1b2 ${BAIDU} 提取码：c3d4`, "[1 unclearCode]"],
    ["BaiduShare", `3. ${BAIDU} a1b2`, "aB-c_9 a1b2 -"],
    // No code.
    ["BaiduShare", BAIDU, "aB-c_9 - -"],
    ["BaiduShare", `${BAIDU} 无提取码`, "aB-c_9 - -"],
    ["BaiduShare", `${BAIDU} 提取码：无`, "aB-c_9 - -"],
    ["BaiduShare", `${BAIDU} 一本好书`, "aB-c_9 - -"],
    ["BaiduShare", `${BAIDU} A quiet harbour`, "aB-c_9 - -"],
    ["BaiduShare", `${BAIDU} 解压密码：abcd`, "aB-c_9 - -"],
    ["BaiduShare", `${BAIDU} 密码学导论`, "aB-c_9 - -"],
    ["115 Share", D115, "[1 noCode]"],
    ["AliyundriveShare", `${ALI}#书名 1080`, "aBcDeF12345 - -"],
    // Words that may be a code.
    ["BaiduShare", `${BAIDU} a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}　１２３４`, "aB-c_9 1234 -"],
    ["BaiduShare", `${BAIDU} harbour`, "[1 unclearCode]"],
    ["BaiduShare", `${BAIDU} a1b2 与说明`, "[1 unclearCode]"],
    ["BaiduShare", `${BAIDU} 提取码见评论`, "[1 unclearCode]"],
    ["BaiduShare", `${BAIDU} 提取码：`, "aB-c_9 - -"],
    // Folders.
    ["AliyundriveShare", `${ALI}/folder/${FOLDER}`, `aBcDeF12345 - ${FOLDER}`],
    ["AliyundriveShare", `${ALI}/folder/${FOLDER}?pwd=c3d4`, `aBcDeF12345 c3d4 ${FOLDER}`],
    ["AliyundriveShare", `${ALI}/folder/F 提取码: c3d4`, "aBcDeF12345 c3d4 F"],
    ["AliyundriveShare", `${ALI}/folder`, "aBcDeF12345 - -"],
    ["AliyundriveShare", `${ALI}/file/x/y`, "[1 unknownPart]"],
    [
      "PikPakShare",
      `${PIKPAK}/VOabcdefghijklmnopqrstuvo1`,
      "VNabcdefghijklmnopqrstuvo1 - VOabcdefghijklmnopqrstuvo1",
    ],
    ["PikPakShare", `${PIKPAK}/folder\tx9y8 `, "VNabcdefghijklmnopqrstuvo1 x9y8 -"],
    ["OpenListShare", "https://a.example/base/@s/x1/书/第一卷 pw", "[1 unknownPart]"],
    [
      "OpenListShare",
      "https://a.example/base/@s/x1/%E4%B9%A6/a%20b?pwd=secret",
      "x1 secret /书/a b",
    ],
    ["OpenListShare", "https://a.example/base/@s/x1 pw", "x1 pw -"],
    ["BaiduShare", `${BAIDU}#list/path=%2Fbooks&parentPath=%2F`, "[1 unknownPart]"],
    ["BaiduShare", `${BAIDU}#list/path=%2F`, "aB-c_9 - -"],
    // Several links in a line.
    ["BaiduShare", `${BAIDU} 提取码：a1b2 ${BAIDU}x 提取码：c3d4`, "aB-c_9 a1b2 -, aB-c_9x c3d4 -"],
    [
      "BaiduShare",
      `上：${BAIDU}?pwd=a1b2；下：${BAIDU}x?pwd=c3d4`,
      "aB-c_9 a1b2 -, aB-c_9x c3d4 -",
    ],
    ["BaiduShare", `码 a1b2 ${BAIDU} 码 c3d4 ${BAIDU}x`, "aB-c_9 a1b2 -, aB-c_9x c3d4 -"],
    ["BaiduShare", `${BAIDU}?pwd=a1b2 或 ${ALI}`, "aB-c_9 a1b2 -, [1 otherProvider]"],
    ["BaiduShare", `[${BAIDU}](${BAIDU})`, "aB-c_9 - -"],
    // Several lines.
    ["BaiduShare", `链接: ${BAIDU}\n提取码: a1b2`, "aB-c_9 a1b2 -"],
    ["BaiduShare", `${BAIDU}?pwd=a1b2\n来自某人的分享`, "aB-c_9 a1b2 -, [2 noAddress]"],
    ["BaiduShare", `${BAIDU}\n\n${BAIDU}`, "aB-c_9 - -, [3 repeated]"],
    // Links as copied.
    ["BaiduShare", "pan.baidu.com/s/1aB-c_9 提取码: a1b2", "aB-c_9 a1b2 -"],
    ["BaiduShare", "https：//pan.baidu.com/s/1aB-c_9，提取码a1b2", "aB-c_9 a1b2 -"],
    ["BaiduShare", "https:// pan.baidu.com/s/1aB-c_9", "aB-c_9 - -"],
    ["BaiduShare", `\u200b${BAIDU}\u200b`, "aB-c_9 - -"],
    ["BaiduShare", `${BAIDU}.`, "aB-c_9 - -"],
    ["DoubaoShare", "https://www.doubao.com/drive/s/0a1b2c3d4e5f", "0a1b2c3d4e5f - -"],
    // Not a share of the driver.
    ["BaiduShare", ALI, "[1 otherProvider]"],
    ["AliyundriveShare", BAIDU, "[1 otherProvider]"],
    ["115 Share", "https://115.com/home", "[1 noShare]"],
    ["AliyundriveShare", "https://evil-alipan.com/s/abc", "[1 otherProvider]"],
    ["AliyundriveShare", "https://www.alipan.com/s/", "[1 noShare]"],
    ["BaiduShare", "a1b2", "[1 noAddress]"],
  ])("for %s: %s", (driver, text, expected) => {
    expect(shown(driver, text)).toBe(expected);
  });

  test("of an OpenList share names the address of its server", () => {
    expect(read("OpenListShare", "http://a.example:5244/base/@s/x1").shares[0]?.base).toBe(
      "http://a.example:5244/base",
    );
  });

  test("of any text ends as a share or as a problem", () => {
    const words = [
      "提取码",
      "：",
      "a1b2",
      BAIDU,
      "?pwd=",
      " ",
      "密码",
      "(",
      "无",
      "#",
      "\n",
      "/folder/x",
    ];
    const text = fc.oneof(
      fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((parts) => parts.join("")),
      anyText({ maxLength: 60 }),
    );
    fc.assert(
      fc.property(text, (pasted) => {
        const { shares, refused } = read("BaiduShare", pasted);
        const lines = pasted.split(/\r?\n/);
        for (const { line } of [...shares, ...refused]) expect(lines[line - 1]).toBeDefined();
        for (const { id, code } of shares) {
          expect(id).toMatch(/^[\w-]+$/);
          expect(code).toMatch(/^[^\s\p{Script=Han}]*$/u);
        }
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ["a".repeat(200_000)],
    ["提取码".repeat(60_000)],
    [`${BAIDU} `.repeat(5_000)],
    ["(".repeat(200_000)],
    [`${BAIDU}${"提取码：".repeat(40_000)}`],
  ])("of any length is read in linear time: %#", (text) => {
    read("BaiduShare", text);
  });
});
