package workbench_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flowerlua/flower/engine/workbench"
)

type descCase struct {
	ID     string
	In     string
	Base64 []byte `json:"in_base64"`
	Want   string
	Note   string
}

func (c descCase) content() []byte {
	if c.Base64 != nil {
		return c.Base64
	}
	return []byte(c.In)
}

func descCases(t testing.TB) []descCase {
	t.Helper()
	var cases []descCase
	file, err := os.Open(filepath.Join("testdata", "desc.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var c descCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	return cases
}

func TestDescribe_answers_every_case(t *testing.T) {
	for _, c := range descCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			if got := workbench.Describe(c.content()); got != c.Want {
				t.Errorf("Describe(%q) = %q, want %q (%s)", c.content(), got, c.Want, c.Note)
			}
		})
	}
}

func TestDescribe_desc_line(t *testing.T) {
	for in, want := range map[string]string{
		"// desc: go\n":                                   "go",
		"//desc:go":                                       "go",
		"--- desc: lua":                                   "lua",
		"--desc:sql":                                      "sql",
		"# DESC: upper case":                              "upper case",
		"# Desc : title case":                             "title case",
		"#\tdesc:\ttabs":                                  "tabs",
		"   # desc: indented":                             "indented",
		"# desc: a # desc: b":                             "a # desc: b",
		"# desc: one\n# desc: two":                        "one",
		"# desc:\n# desc: second":                         "second",
		"# desc: crlf\r\nset -e\r\n":                      "crlf",
		"# desc: old mac\rset -e":                         "old mac",
		"1\n2\n3\n4\n5\n6\n7\n# desc: on line eight\n":    "on line eight",
		"#!/bin/sh\nset -e\n\n# desc: below code\n":       "below code",
		"/*\n * desc: in a block\n */":                    "in a block",
		"/** desc: doc block */ code":                     "doc block",
		"<!-- desc: a page -->":                           "a page",
		"<!--\ndesc: a page\n-->":                         "a page",
		"--[[ desc: long bracket ]]":                      "long bracket",
		"\"\"\"\n# desc: in a docstring\n\"\"\"":          "in a docstring",
		"\"\"\"Doc.\"\"\"\n# desc: wins over a docstring": "wins over a docstring",
		"# desc: tab\tand \x1b[31mred\x07":                "tab and  [31mred",
		"# desc: \u202eevil":                              "evil",
		"#desc：全角":                                        "全角",
		"　# desc: 全角空格开头":                                 "全角空格开头",
		"#　desc：　全角空格":                                    "全角空格",
		"# descr: no":                                     "descr: no",
		"# mydesc: no":                                    "mydesc: no",
		"desc : bare":                                     "",
		"; desc: another marker":                          "",
		"% desc: another marker":                          "",
		"x = 1 // desc: behind code":                      "",
	} {
		if got := workbench.Describe([]byte(in)); got != want {
			t.Errorf("Describe(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDescribe_first_comment_for_people(t *testing.T) {
	for in, want := range map[string]string{
		"#!/bin/sh\n# builds":                           "builds",
		"#!/bin/sh\n":                                   "",
		"#tidy logs":                                    "tidy logs",
		"// Package x does y.":                          "Package x does y.",
		"-- creates the table":                          "creates the table",
		"/**\n * Parses dates.\n * @param s\n */":       "Parses dates.",
		"/* one line */ int x;":                         "one line",
		"<!DOCTYPE html>\n<!-- report -->":              "report",
		"# vim: set ts=4:\n# real":                      "real",
		"# coding=utf-8\n# real":                        "real",
		"# shellcheck disable=SC2086\n# real":           "real",
		"# pylint: disable=all\n# real":                 "real",
		"// eslint-disable no-console\n// real":         "real",
		"//go:build linux\n// +build linux\n\n// real":  "real",
		"# SPDX-License-Identifier: MIT\n# real":        "real",
		"# frozen_string_literal: true\n# real":         "real",
		"---@meta\n---@class x\n--- real":               "real",
		"########\n# ===== Setup =====\n########":       "Setup",
		"# ------\n#\n# real":                           "real",
		"## Title ##\n":                                 "Title",
		"# about C#":                                    "about C#",
		"#define X 1\n#ifdef X\n#pragma once\n// real":  "real",
		"# include the logs":                            "include the logs",
		"#[derive(Debug)]\n// real":                     "real",
		"---\ntitle: front matter\n---\n# Note":         "Note",
		"-----BEGIN CERTIFICATE-----\nMII":              "",
		"#\n#\n":                                        "",
		"{\"a\": 1}":                                    "",
		"plain text\nmore":                              "",
		"# 2024 数据":                                     "2024 数据",
		"x = \"\"\"\n# not a comment\n\"\"\"\n# real":   "real",
		"x = \"\"\"\ntext\n\"\"\"\ny = 1":               "",
		"\"\"\"\n# in a docstring\n\"\"\"":              "# in a docstring",
		strings.Repeat("code\n", 7) + "# on line eight": "on line eight",
		strings.Repeat("code\n", 8) + "# on line nine":  "",
		"# " + strings.Repeat("a", 99) + "bc":           strings.Repeat("a", 99) + "b",
		"# " + strings.Repeat("好", 100):                 strings.Repeat("好", 100),
		"# " + strings.Repeat("好", 101):                 strings.Repeat("好", 100),
	} {
		if got := workbench.Describe([]byte(in)); got != want {
			t.Errorf("Describe(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDescribe_docstring(t *testing.T) {
	for in, want := range map[string]string{
		`"""One line."""`:                              "One line.",
		"'''Single quotes.'''":                         "Single quotes.",
		"R'''raw'''":                                   "raw",
		"u\"\"\"unicode\"\"\"":                         "unicode",
		"f\"\"\"no docstring\"\"\"":                    "",
		"import os\n\n\"\"\"\n\n  Indented.\n\"\"\"":   "Indented.",
		"\"\"\"\"\"\"\n\"\"\"second\"\"\"":             "second",
		"\"\"\"unclosed":                               "unclosed",
		"\"\"\"" + strings.Repeat("d", 120) + "\"\"\"": strings.Repeat("d", 100),
		"\"a\",\"b\"\n":                                "",
	} {
		if got := workbench.Describe([]byte(in)); got != want {
			t.Errorf("Describe(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDescribe_looks_at_the_head_only(t *testing.T) {
	// A character that the end of the head cuts through leaves no trace.
	for shift := range 4 {
		content := "# desc: " + strings.Repeat("x", shift) + strings.Repeat("好", 4000)
		got := workbench.Describe([]byte(content))
		if !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) || len(got) > 8<<10 || len(got) < 8000 {
			t.Errorf("shift %d: %d bytes, ends %q", shift, len(got), got[max(0, len(got)-10):])
		}
	}
	if got := workbench.Describe([]byte("# desc: ok\n" + strings.Repeat("a", 9000) + "\x00")); got != "ok" {
		t.Errorf("what lies behind the head matters: %q", got)
	}
	if got := workbench.Describe([]byte("# desc: not text\n\x00\x01")); got != "" {
		t.Errorf("binary content says %q", got)
	}
}

func FuzzDescribe(f *testing.F) {
	for _, c := range descCases(f) {
		f.Add(c.content())
	}
	f.Add([]byte("/*\n * a\n\"\"\"\n--[[ \xff\r\n# desc\xef\xbc\x9a"))
	f.Fuzz(func(t *testing.T, content []byte) {
		got := workbench.Describe(content)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		if strings.ContainsAny(got, "\n\r\t\x00\x1b") || got != strings.TrimSpace(got) {
			t.Errorf("%q is not one clean line", got)
		}
		if len(got) > 3*(8<<10) {
			t.Errorf("%d bytes", len(got))
		}
		if again := workbench.Describe([]byte("# desc: " + got)); got != "" && len(got) < 4000 && again != got {
			t.Errorf("%q described again is %q", got, again)
		}
	})
}
