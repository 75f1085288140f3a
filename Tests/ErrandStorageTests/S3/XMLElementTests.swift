import Testing

@testable import ErrandStorage

@Suite("S3's XML") struct XMLElementTests {
    @Test("elements, text, entities, CDATA; attributes, comments and prefixes are passed over")
    func reads() throws {
        let text = """
            <?xml version="1.0"?><!-- from <us> --><r:List xmlns="http://s3/doc"><Key a='1'>a&amp;b&#43;&#x40;&lt;</Key>
            <Key><![CDATA[<raw&>]]></Key><Empty/><Owner><ID>7</ID></Owner></r:List>
            """
        let list = try #require(XMLElement(document: Array(text.utf8)))
        #expect(list.name == "List")
        #expect(list.all("Key").map(\.text) == ["a&b+@<", "<raw&>"])
        #expect(list["Owner"]?["ID"]?.text == "7" && list["Empty"]?.text == "" && list["None"] == nil)
        #expect(XMLElement.escaped("a<b>&c") == "a&lt;b&gt;&amp;c")
    }

    @Test(
        "what is not well-formed, nests without end or defines entities is refused",
        arguments: [
            "", "text", "<a>", "<a></b>", "</a>", "<a><b></a></b>", "<!DOCTYPE x [<!ENTITY a \"b\">]><x/>",
            "<a><![CDATA[",
            String(repeating: "<a>", count: 100) + String(repeating: "</a>", count: 100), "{\"error\": 1}",
        ])
    func refuses(text: String) {
        #expect(XMLElement(document: Array(text.utf8)) == nil)
    }
}
