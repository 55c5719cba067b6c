import type { Language } from "../../src/messages/language.ts";

/** Texts by name. */
const texts = (named: Readonly<Record<string, string>>) => named;

/** English texts of generated pages in addition to those of the catalogue. */
const en = {
  /** Heading of the first page, with its buttons by the pages that they open. */
  first: {
    claim: "The settings of your AList and OpenList servers, under control",
    tagline:
      "Every value is checked, every change has an author, a reason and an undo, and every client sees it at once.",
    buttons: texts({
      start: "Get started",
      "beside-your-server": "Beside my server",
      "driver/": "All drivers",
    }),
  },
  /** Texts around the pages. */
  frame: {
    description: "Settings and driver catalogue of storage-aggregation sites",
    menu: "Menu",
    search: "Search",
    noResults: "No results",
    onThisPage: "On this page",
    appearance: "Light or dark",
    missing: "404: there is no such page",
  },
  /** Sections of the sidebar. */
  sections: {
    start: "Start",
    operators: "Operators",
    data: "Settings, drivers, mounts",
    developers: "Developers",
    internals: "Inside Mooring",
  },
  reference: "Reference",
  api: "REST reference",
  /** Behind the title of a page that is not translated. */
  untranslated: "",
  /** Separator between a label and its value. */
  colon: ": ",
  allDrivers: "All drivers",
  driversAbout: "Each driver has a page with its items and where their values come from.",
  allSettings: "All settings",
  settingsAbout: "Each group has a page with its settings, their defaults and their rules.",
  decisions: "Decisions",
  ownItems: "Items of this driver",
  noItems: "This driver has no items of its own.",
  commonItems: "Common items",
  commonAbout:
    "Items that storages of most drivers have. The page of a driver says which, and with which default.",
  driverName: "Name in the API",
  families: "Families",
  guide: "Where the values come from",
  traits: "Properties",
  required: "required",
  secret: "secret",
  public: "public",
  readonly: "read-only",
  private: "private",
  default: "default",
  empty: "empty",
  options: "Options",
  onlyWhen: "Only when",
  onlyIn: "only",
  from: "from",
  to: "to",
  format: "format",
  decimal: "fractions allowed",
  types: texts({
    string: "one line",
    text: "text",
    number: "whole number",
    float: "number",
    bool: "true or false",
    select: "choice",
  }),
  properties: texts({
    localSort: "the site sorts listings",
    onlyLocal: "files come from the site's own machine",
    onlyProxy: "downloads always pass through the site",
    noCache: "listings are not cached",
    noUpload: "no uploads",
    onlyIndices: "an index without contents of its own",
    preferProxy: "new storages pass downloads through the site",
  }),
};

export type Words = typeof en;

export const WORDS: Readonly<Record<Language, Words>> = {
  en,
  "zh-CN": {
    first: {
      claim: "管好 AList 和 OpenList 服务器的设置",
      tagline: "每个值都经过校验，每次改动都有人、有原因、可撤销，所有客户端立即看到。",
      buttons: {
        start: "快速开始",
        "beside-your-server": "与现有服务器配合",
        "driver/": "全部驱动",
      },
    },
    frame: {
      description: "存储聚合站点的设置与驱动目录服务",
      menu: "菜单",
      search: "搜索",
      noResults: "没有结果",
      onThisPage: "本页内容",
      appearance: "浅色或深色",
      missing: "404：没有这个页面",
    },
    sections: {
      start: "开始",
      operators: "运维",
      data: "设置、驱动、存储",
      developers: "开发",
      internals: "内部",
    },
    reference: "参考",
    api: "REST 接口参考",
    untranslated: "（英文）",
    colon: "：",
    allDrivers: "全部驱动",
    driversAbout: "每个驱动有一页，列出它的配置项，以及这些值从哪里来。",
    allSettings: "全部设置",
    settingsAbout: "每个分组有一页，列出其中的设置、默认值和规则。",
    decisions: "设计决定",
    ownItems: "此驱动专有的配置项",
    noItems: "此驱动没有专有的配置项。",
    commonItems: "所有存储共有的配置项",
    commonAbout: "大多数驱动的存储都有这些配置项。各驱动有哪些、默认值是什么，见该驱动的页面。",
    driverName: "接口中的名称",
    families: "家族",
    guide: "这些值从哪里来",
    traits: "特性",
    required: "必填",
    secret: "密钥",
    public: "公开",
    readonly: "只读",
    private: "需要令牌",
    default: "默认",
    empty: "空",
    options: "选项",
    onlyWhen: "仅当",
    onlyIn: "专有",
    from: "不小于",
    to: "不大于",
    format: "格式",
    decimal: "可以有小数",
    types: {
      string: "单行文本",
      text: "多行文本",
      number: "整数",
      float: "数字",
      bool: "开关",
      select: "选择",
    },
    properties: {
      localSort: "列表由站点排序",
      onlyLocal: "文件来自站点本机",
      onlyProxy: "下载始终经由站点",
      noCache: "不缓存列表",
      noUpload: "不能上传",
      onlyIndices: "仅索引，自身没有内容",
      preferProxy: "新存储默认经由站点下载",
    },
  },
};

export const FAMILY_NAMES = { openlist: "OpenList", alist: "AList" } as const;
