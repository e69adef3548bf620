"""What languages of Asia say at the end of a turn, and what Arabic does."""

from __future__ import annotations

from typing import Final

from interlock.policy.stops.phrases import (
    ARABIC_SCRIPT,
    DEVANAGARI,
    HAN,
    HANGUL,
    KANA,
    Language,
    one_of,
)

TURKISH: Final = Language(
    announces=r"""
        [^ ,.;]+[ae]c[ae]ğ[ıi]m, [^ ,.;]+[ıiuü]yorum, [^ ,.;]+(?:[ae]y[ıi]m|[ae]l[ıi]m)[.:!]?$,
        sıra (?:şimdi )?[^ ,.;]+(?:da|de), sırada, sonraki adım:, sıradaki adım:, bir sonraki adımda
    """,
    ends=r"""
        gönderiyorum, göndereceğim, teslim ediyorum, bitiriyorum, tamamlıyorum, özetliyorum,
        özetleyeceğim, sonlandırıyorum, özetleyeyim, özetleyelim
    """,
    denies=r"""
        [^ ,.;]*m[ıiuü]yor(?:um|uz), [^ ,.;]+m[ae]y[ae]c[ae]ğ[ıi](?:m|z), değil, bekliyorum,
        bekleyeceğim, biliyorum, düşünüyorum, umuyorum, sanıyorum, inanıyorum, istiyorum, anlıyorum,
        öneriyorum, öneririm, görüyorum, görüyoruz, tavsiye ediyorum, teşekkür ediyorum,
        rica ediyorum, tahmin ediyorum, yardımcı olacağım, olacağım, olacağız, açıklayacağım,
        açıklayayım, kullanıyoruz, kullanıyorum, deneyim, diyelim, buradayım, bundan sonra, ^eğer,
        [^ ,.;]+(?:[ae]bil[ei]c[ae]ğ|ebiliyor|abiliyor)[^ ,.;]*, tamamdır
    """,
    requests=r"""
        lütfen, söyle, söyleyin, bildir, bildirin, haber ver, haber verin, onayla, onaylayın,
        paylaş, paylaşın, belirtin, belirt,
        (?:ister|tercih eder|onaylıyor) m[ıiuü]s[ıiuü]n(?:[ıiuü]z)?, yaz, yazın, yazman yeterli,
        yazmanız yeterli
    """,
    offers=r"""
        istersen, isterseniz, dilersen, dilerseniz, [^ ,.;]+rsan(?:ız)?, [^ ,.;]+rsen(?:iz)?,
        onay verirsen, onayından sonra, onayınızdan sonra,
        [^ ,.;]+(?:abilir|ebilir)(?:sin|siniz|im|iz), [^ ,.;]+dığında (?:sen|siz), hazır olduğunda,
        hazır olduğunuzda, [^ ,.;]+malısın(?:ız)?, [^ ,.;]+melisin(?:iz)?
    """,
    awaits=r"""
        (?:onayını|onayınızı|cevabını|cevabınızı|yanıtını|yanıtınızı|kararını|kararınızı|sizi|seni)
        bekliyorum, bekliyorum, beklemedeyim
    """,
    runs=r"""
        arka planda (?:çalış|devam|sür|yürü)[^ ,.;]*,
        (?:hâlâ|hala|halen) (?:çalışıyor|sürüyor|devam ediyor),
        (?:bitmesini|tamamlanmasını|sonucunu|sonuçları) bekliyorum
    """,
    bound=r"""
        [^ ,.;]+[ıiuü]nc[ae], [^ ,.;]+[dt][ıiuü]ğ[ıiuü]nd[ae], sonra, ardından, [^ ,.;]+m[ae]z
    """,
    left=r"""
        kalan (?:adım|iş|görev|dosya|kısım|bölüm)[^ ,.;]*:?,
        geriye(?: sadece| yalnızca)? [^.;]+ kaldı, henüz [^.;]*(?:m[ae]d[ıi]|m[ae]m[ıi]ş|yok|değil),
        yapılacaklar:, eksik kalan[^ ,.;]*
    """,
    notes=r"""
        [^ ,.;]+[ae]c[ae]ğ[ıi]z[.:!]*$, [^ ,.;]+[ıiuü]yoruz[.:!]*$
    """,
    tells=r"""
        burada, bu örnekte, örneğin, böylece, sayesinde, ile, kullanarak
    """,
    patience=r"""
        (?:lütfen )?(?:biraz |bir an |birkaç saniye )?(?:bekle|bekleyin|sabret)[.!\x{2026}]*$
    """,
    remarks=r"""
        ^(?:bu|böylece|ardından|sonra|özellikle|bunun)
    """,
)
_VIETNAMESE_ACTS: Final = one_of("""
    tiếp tục, kiểm tra, sửa, chạy, cập nhật, thêm, tạo, xem, đọc, viết, triển khai, bắt đầu, xử lý,
    xóa, xoá, cài, cài đặt, tìm, test, build, làm, bổ sung, chỉnh, khởi động, đổi, thay, chuyển,
    quét, rà, dò, tra cứu, hoàn thiện, refactor, commit, push, fix, deploy
""")
VIETNAMESE: Final = Language(
    announces=rf"""
        (?:tôi|mình|em|chúng ta|ta) (?:sẽ|cần|phải|đang|xin) (?:[^ ,.;]+ )?{_VIETNAMESE_ACTS},
        (?:tôi|mình|em) sẽ, để (?:tôi|mình|em), (?:bây giờ|tiếp theo|giờ|sau đó|trước tiên|đầu tiên
        |trước hết)(?:,)? (?:tôi|mình|em|ta|chúng ta)(?: cùng| sẽ)? {_VIETNAMESE_ACTS},
        ^(?:tôi|mình|em) {_VIETNAMESE_ACTS}, ^(?:đang )?tiếp tục {_VIETNAMESE_ACTS},
        ^đang {_VIETNAMESE_ACTS}, hãy cùng {_VIETNAMESE_ACTS}, bước tiếp theo:,
        ^(?:mình|tôi|em) làm tiếp
    """,
    ends=r"""
        tóm tắt, tổng kết, kết thúc, nộp
    """,
    denies=r"""
        không, chờ, đợi, giải thích, gợi ý, khuyên, đề xuất, đã xong, biết, nhớ, trả lời, hỗ trợ,
        ^nếu, ^(?:ngay )?(?:sau )?khi
    """,
    requests=r"""
        vui lòng, bạn (?:có )?muốn, cho (?:mình|tôi|em) biết, hãy cho, bạn hãy, xác nhận giúp,
        bạn chọn, báo (?:mình|tôi|em), bạn gửi
    """,
    offers=r"""
        nếu (?:bạn|anh|chị|cần|muốn|đồng ý), khi (?:nào )?bạn, bạn (?:có thể|cần|nên|chỉ cần),
        sau khi bạn, (?:mình|tôi|em) có thể
    """,
    awaits=r"""
        (?:chờ|đợi) (?:bạn|phản hồi|xác nhận|anh|chị), (?:mình|tôi|em) (?:sẽ )?(?:chờ|đợi)
    """,
    runs=r"""
        (?:đang )?chạy (?:ngầm|nền|ở nền|trong nền|dưới nền), vẫn đang (?:chạy|build|xử lý),
        (?:chờ|đợi) (?:kết quả|build|test|lệnh|quá trình)
    """,
    bound=r"""
        khi, sau đó, xong
    """,
    left=r"""
        (?:còn lại|việc còn lại|phần còn lại)(?: là)?:?, chưa (?:làm|xong|hoàn thành|triển khai|kiểm
        tra|cập nhật|test|sửa), còn (?:thiếu|phải)
    """,
    patience=r"""
        (?:vui lòng|bạn|xin) (?:chờ|đợi) (?:một chút|chút|một lát|giây lát|trong giây lát)
    """,
    remarks=r"""
        ^(?:việc này|sau đó|điều này|cách này|rồi|đồng thời)
    """,
)
_INDONESIAN_ACTS: Final = (
    "(?:me[a-z]+|(?:per)?(?:cek|lanjut|mulai|baik|ubah|tambah|jalan|buat|periksa|hapus|update|"
    "ganti|lihat|tulis|coba|cari|perbaiki)(?:kan|i)?)"
)
INDONESIAN: Final = Language(
    announces=rf"""
        (?:saya|aku|kita|kami) akan(?: segera| sekarang)? {_INDONESIAN_ACTS}, (?:sekarang
        |selanjutnya|berikutnya|pertama|lalu|kemudian)(?:,)? (?:saya|aku|mari|kita|kami)
        (?:akan |kita |perlu )?{_INDONESIAN_ACTS}, (?:mari|ayo) (?:kita )?{_INDONESIAN_ACTS},
        (?:saya|aku) (?:perlu|harus|sedang|mulai|lanjut|lanjutkan|perbaiki|cek|periksa) [^ ,.;]+,
        biarkan saya {_INDONESIAN_ACTS}, izinkan saya {_INDONESIAN_ACTS}, langkah berikutnya:,
        ^sedang me[a-z]+, ^melanjutkan, ^lanjut ke
    """,
    ends=r"""
        merangkum, menyimpulkan, mengakhiri, menyerahkan, menutup
    """,
    denies=r"""
        tidak, menunggu, tahu, informasi, menjelaskan, jelaskan, menyarankan, sarankan, bukan,
        belum, ^jika, ^kalau, ^bila
    """,
    requests=r"""
        apakah, silakan, tolong, mohon, beri tahu, beritahu, kabari, konfirmasi, mau saya, bolehkah
    """,
    offers=r"""
        (?:jika|kalau|bila|apabila) (?:anda|kamu|setuju|mau|ingin|perlu|sudah),
        (?:anda|kamu) (?:bisa|dapat|perlu|harus), setelah (?:anda|kamu), saya bisa
    """,
    awaits=r"""
        (?:saya )?(?:menunggu|tunggu) (?:konfirmasi|jawaban|balasan|persetujuan|anda|kamu|keputusan)
    """,
    runs=r"""
        (?:berjalan|jalan|dijalankan) (?:sekarang |masih )?di (?:latar belakang|background),
        masih (?:berjalan|diproses), menunggu (?:hasil|build|tes|proses)
    """,
    bound=r"""
        setelah, begitu, saat, ketika, sesudah, (?:jika|kalau|bila) (?:sudah )?selesai
    """,
    left=r"""
        (?:yang )?tersisa(?: adalah)?:?, belum (?:selesai|dikerjakan|dibuat|diuji|diperbarui
        |diperbaiki), sisanya, masih perlu, masih harus
    """,
    patience=r"""
        (?:mohon|harap|silakan) (?:tunggu|bersabar)(?: sebentar)?
    """,
    remarks=r"""
        ^(?:ini|setelah itu|dengan begitu|lalu|kemudian)
    """,
)
ARABIC: Final = Language(
    script=ARABIC_SCRIPT,
    announces=r"""
        [وف]?سأ[^ ,.;\x{60c}]+, سوف أ[^ ,.;\x{60c}]+, دعني, دعنا, دعوني, سنقوم, لنبدأ, لنتحقق, هيا
        بنا, (?:الآن|أولاً|أولا|بعد ذلك)(?:\x{60c})? سن[^ ,.;\x{60c}]+, أقوم الآن, جاري, جارٍ,
        الخطوة التالية:
    """,
    ends=r"""
        سألخص, سأختم, سأنهي, ألخص, سأقدم (?:الإجابة|الحل)
    """,
    denies=r"""
        لا, لن, لم, ليس, سألت, سألني, سأنتظر, أنتظر, سأشرح, أقترح, أنصح, أعتقد, أرى, أظن, سأكون,
        أشكرك, ^إذا, ^عندما
    """,
    requests=r"""
        هل, من فضلك, يرجى, أخبرني, أخبرنا, أرسل, أكد, رجاءً, لو سمحت
    """,
    offers=r"""
        إذا (?:أردت|كنت|وافقت|رغبت|أحببت), يمكنك, يمكنني, عليك, بإمكانك, بعد موافقتك
    """,
    awaits=r"""
        (?:أنتظر|بانتظار|في انتظار) (?:ردك|ردكم|موافقتك|تأكيدك|قرارك), أنتظر, بانتظارك
    """,
    runs=r"""
        (?:يعمل|تعمل|قيد التشغيل|جار|جارٍ|جاري|جارية|مستمر|مستمرة) (?:الآن )?في الخلفية,
        (?:لا يزال|لا تزال|ما زال|ما زالت) (?:يعمل|تعمل|قيد)
    """,
    bound=r"""
        فور, عندما, بعد, حين, حالما, بمجرد, عند
    """,
    left=r"""
        (?:المتبقي|المتبقية|يتبقى|تبقى|بقي|بقيت)(?: [^ ,.;]+)?:?, لم (?:يتم|تتم|تكتمل|يكتمل)
        [^.;]*بعد
    """,
    remarks=r"""
        ^(?:هذا|هذه|بعد ذلك|ثم)
    """,
)
HINDI: Final = Language(
    script=DEVANAGARI,
    announces=r"""
        मैं(?: [^ ,.;]+)* (?:हूँ|हूं), [^ ,.;]+(?:ऊँगा|ऊंगा|ूँगा|ूंगा|ऊँगी|ऊंगी|ूँगी|ूंगी), रहा हूँ,
        रहा हूं, रही हूँ, रही हूं, (?:चलिए|आइए|चलो)(?: [^ ,.;]+)* (?:हैं|करें|देखें|लें), अगला कदम:
    """,
    ends=r"""
        सारांश, समाप्त, संक्षेप
    """,
    denies=r"""
        नहीं, तैयार, यहाँ, यहां, इंतज़ार, इंतजार, प्रतीक्षा, समझाता, सुझाव, सकता, सकती, चाहता,
        चाहती, (?:चुका|चुकी|गया|गई) हूँ, ^यदि, ^अगर
    """,
    requests=r"""
        कृपया, क्या, बताएं, बताएँ, बताइए, बताओ, पुष्टि करें, बता दें
    """,
    offers=r"""
        (?:यदि|अगर) आप, आप(?: [^ ,.;]+)* (?:सकते|सकती), आपको
    """,
    awaits=r"""
        आपके (?:उत्तर|जवाब|निर्णय) (?:का|की) (?:इंतज़ार|इंतजार|प्रतीक्षा)
    """,
    runs=r"""
        (?:बैकग्राउंड|पृष्ठभूमि) में (?:चल|जारी)[^ ,.;]*, अभी भी चल
    """,
    bound=r"""
        जब, ही, पर, बाद, तब
    """,
    left=r"""
        (?:बाकी|शेष) (?:है|हैं|काम), अभी (?:बाकी|तक नहीं)[^.;]*
    """,
    remarks=r"""
        ^(?:यह|इससे|इसके बाद|फिर)
    """,
)
_CHINESE_ACT: Final = one_of("""
    查, 查看, 看, 检查, 检索, 核对, 核实, 确认, 验证, 测试, 试, 尝试, 跑, 运行, 执行, 启动, 重启,
    修, 修复, 修正, 修改, 改, 调整, 调试, 更新, 升级, 替换, 添加, 新增, 增加, 加, 补, 追加, 插入,
    创建, 新建, 建立, 编写, 写, 撰写, 生成, 实现, 实施, 完善, 优化, 重构, 重写, 重新, 整理, 梳理,
    清理, 删, 删除, 移除, 去掉, 拆分, 合并, 提取, 抽取, 迁移, 移动, 复制, 读, 读取, 打开, 搜索,
    查找, 找, 定位, 排查, 诊断, 分析, 研究, 了解, 探索, 对比, 比较, 统计, 扫描, 安装, 卸载, 配置,
    设置, 集成, 接入, 引入, 注册, 处理, 解决, 构建, 编译, 打包, 部署, 推送, 拉取, 同步, 备份, 恢复,
    还原, 回滚, 导出, 导入, 下载, 上传, 加载, 获取, 抓取, 启用, 禁用, 切换, 统一, 设计, 规划, 制定,
    开发, 着手, 进行, 进入, 推进, 开始, 继续, 完成, 补充, 把, 给, 逐一, 逐个, 檢查, 檢視, 確認,
    驗證, 測試, 試, 嘗試, 執行, 啟動, 修復, 調整, 新增, 建立, 編寫, 寫, 實作, 實現, 優化, 重構,
    重寫, 刪除, 讀取, 讀, 開啟, 搜尋, 尋找, 處理, 解決, 建置, 編譯, 繼續, 進行, 開始, 補, 補充,
    安裝, 設定, 匯入, 匯出, 運行, 修改, 更新, 替換, 遷移, 複製, 備份, 還原, 下載, 切換, 設計, 完成,
    進入
""")
_CHINESE_WAY: Final = (
    "(?:需要|打算|准备|準備|将|將|要|来|來|去|就|先|再|直接|开始|開始|继续|繼續|也|快速|一起|顺便)*"
)
_CHINESE_WITH: Final = r"(?:(?:在|对|對|按|用|从|從|为|為|针对|根据|基于)[^。，\x2c]+?)"
CHINESE: Final = Language(
    script=HAN,
    announces=rf"""
        (?:让|讓)我(?:们|們)?{_CHINESE_WAY}{_CHINESE_ACT}, 我(?:们|們)?(?:现在|現在|接下来|接下來
        |这就|這就|马上|馬上|立刻|接着|接著|下一步)*(?:需要|打算|准备|準備|会|會|将|將|要|来|來|去
        |就|先|再|直接|开始|開始|继续|繼續|这就|這就|马上|馬上|立刻|接着
        |接著)+{_CHINESE_WITH}?{_CHINESE_WAY}{_CHINESE_ACT}, ^(?:(?:好的?|明白|收到|没问题
        |嗯)[，\x2c。！~ ]*)?(?:那么?|所以|因此)?(?:接着|接著|继续|繼續|开始|開始|这就|這就|马上
        |馬上|立即|立刻|下面|随后|隨後)[，\x2c ]?{_CHINESE_WAY}{_CHINESE_ACT}, (?:先|再|首先|然后
        |然後|最后|最後)[，\x2c ]?(?:我们|我們|我|咱们)(?:来|來|先|再|就|要|将|將|需要
        |把){_CHINESE_WAY}{_CHINESE_ACT}, ^(?:好的?，)?(?:我)?先(?:看|查|检查|查看|读|跑|确认|试
        |了解|分析|檢查|確認)(?:一下|下|看), (?:接下来|接下來|下一步)(?:会
        |會){_CHINESE_WAY}{_CHINESE_ACT}, (?:现在|現在|接下来|接下來|下一步)[，\x2c ]?(?:我们|我們
        |我|让我|讓我)?{_CHINESE_WAY}{_CHINESE_ACT}, ^(?:好的?，)?(?:继续|繼續)[。.…]*$,
        我(?:这就|马上|立刻|接着|继续)[^等。], (?:再|先|重新)(?:跑|试|看|查|测|验证|检查|确认|运行
        |编译|构建)(?:一遍|一次|一下|试试|看看|下)[。.…]*$, 先从[^。]{{1,20}}开始,
        (?:接下来|然后|下一个|下一步|现在)(?:就)?(?:是|轮到), 轮到,
        (?:还剩|还差|只剩|剩下)[^。]{{0,20}}[^了。][。]?$, ^正在[^。后]{{1,30}}[。…]*$
    """,
    ends=r"""
        提交(?:答案|最终|结果|我的|方案|解决方案|解答), 结束(?:任务|对话|工作|本), 总结, 完成任务,
        收尾, 交付, 總結, 結束
    """,
    denies=r"""
        等待, 等您, 等你, 如果, 一旦, 要是, 解释, 解釋, 不会, 不會, 不再,
        已[^有知存，\x2c][^，\x2c]*$, 了[。！!~]?$, [^为除]了[^解，\x2c][^，\x2c]*$,
        没有(?:发现|任何|问题), (?:^|[^而保证认])不(?:能|用|需|必|建议|推荐|变|是|可)[^，\x2c]*$,
        点击, 點擊, 即可,
        就(?:可以|行|能), 的人, 自动, 自動, (?:全部|都|均|测试)通过, 成功[。！]?$,
        (?:我|系统|页面|程序|脚本|它)会自, 后会, 时会, 就会, 例子, 假设, 复杂度, 举例, 后就,
        后[，\x2c][^我]*$, 我再(?:开始|继续|动手|实现|着手|往下), 按钮, 浏览器,
        说(?:明一|明下|一下), 介绍, 给(?:出|你|您), 结论, 回答, (?:速度|时间|结果|状态|效率
        |性能)[^。]*(?:提升|下降|减少|变|为|正常)
    """,
    requests=r"""
        吗[。.]?$, 呢[。.]?$, 嗎[。.]?$, ^是否, [，\x2c]是否, (?:^|[^申邀])(?:请|請)[^求允],
        需要我, 您想, 你想,
        您希望, 你希望, 告诉我, 告訴我, 麻烦您, 麻烦你, 需要(?:您|你),
        (?:跟|和|与|向)(?:您|你)(?:先)?(?:确认|对齐|核对|商量|讨论),
        由(?:您|你)(?:来)?(?:决定|确认|定)
    """,
    offers=r"""
        如果(?:您|你|同意|需要|没|可以|合适|认可|确认|满意|想|ok), 如需, 若(?:您|你|需|要|同意),
        您可以, 你可以, 您需要, 你需要, 要是, 您(?:确认|同意|回复|选),
        你(?:确认|同意|回复|选|說|说), 確認後, 确认(?:之)?后, 同意后, 批准后
    """,
    awaits=r"""
        等待您, 等待你, 等您, 等你, 我会等, 我等, 期待您, 等候您
    """,
    runs=r"""
        (?:正在|仍在|还在|在)后台(?:继续|持续)?(?:运行|执行|构建|进行|跑),
        后台(?:运行|执行)(?:中|着), (?:仍在|还在|正在)(?:运行|执行|构建)(?:中)?[。,.]?,
        等待(?:构建|测试|任务|运行|它|其|结果|编译|部署)
    """,
    bound=r"""
        后, 後, 一旦, 等[^您你]
    """,
    left=rf"""
        (?:还|還|尚|仍|暂)(?:没有|沒有|没|沒|未)(?:开始|開始)?(?:做|完成|{_CHINESE_ACT}), (?:剩下
        |剩余|剩餘|其余|其餘)[^。]*(?:没|沒|未|待|会继续|會繼續|需要), 待(?:办|完成|处理|实现)[：:],
        (?:还|還)(?:需要|需|要|得|差|剩){_CHINESE_ACT}, (?:只|仅|僅)完成了?[^。]*(?:前|部分|第|其中)
    """,
    notes=rf"""
        ^(?:先|再|首先|然后|然後|最后|最後)[，\x2c ]?{_CHINESE_WAY}{_CHINESE_ACT}, ^
        (?:{_CHINESE_ACT}|修订|排除|防止|收敛|对齐|补齐|渲染|追踪|接通|打通|落地|拆|抽|搭建|落实
        |覆盖)[^。！？]{{2,}}[。：:…]*$
    """,
    tells=r"""
        已[^有知存], ^改动(?:在|位于|见|仅|只|均|都|涉及|包括), 首先[^。]*最后,
        先[^。]*再[^。]*最后, ^[^，\x2c。：: ]{1,2}(?:结果|完成|完毕|通过|成功|失败|流程|方式|步骤
        |逻辑|命令|后|时|过|的|是|中|脚本|说明|记录|报告|范围|清单|建议|方案|方法|原因|规则|思路
        |要点|顺序|结论|意见|项|點|点|结束|無|无|正常|内容|方向|目标), 如下,
        ^[^，\x2c。]{2,8}：\x20?code, 见[^。]*$, ^[^，\x2c。]{1,8}后, ^更新日志, ^(?:打开|运行|启动
        |重启|刷新|执行|设置|配置|安装|加|看|给|开始|继续)(?: |code|服务|项目|程序|应用|命令|后),
        生效, 效果, 可以, 能够, 会, 會, 应, 避免, 建议, 或者, 例如, 更(?:快|好|安全|清晰),
        ^把[^。]*(?:就|即), 只需, 需要, 重要, 必须, 方便, 有助, ^(?:无|無), 因为, 所以, 是[^否]
    """,
    patience=r"""
        ^[^。]{0,6}(?:请|請)?(?:稍等|稍候|稍後|耐心等待|耐心等候),
        正在[^。]*(?:请|請)(?:稍等|稍候|耐心等)
    """,
    remarks=r"""
        ^(?:这|這|此|该步|其中|主要|重点|同时|目的|预计|大约|完成后|之后|只|不会|然后|随后|接着|再
        |并|如有|先[^。]*(?:然后|然後|再|接着|最后))
    """,
)
_JAPANESE_ACT: Final = one_of("""
    実行, 確認, 修正, 追加, 作成, 更新, 調査, 検索, テスト, 実装, インストール, 変更, 削除,
    読み込み, ビルド, 起動, 検証, 分析, 対応, 開始, 着手, 有効化, 導入, 設定, 調整, 移動, 続行,
    再実行, 把握, 特定, 整理, 反映, 置換, 移行, 統一, 整備, 生成, 抽出, 比較, 登録, 適用, 準備,
    再確認, 統合, 分割, 切り替え, 接続, 復元, 復旧
""")
_JAPANESE_LEAD: Final = (
    "(?:まずは?|次に|次は|では|それでは|続いて|続けて|引き続き|これから|今から|最後に|さっそく|先に|その後|一旦|いったん"
    "|改めて|もう一度|念のため|残りは|あとは|ここでは?|今回は|早速)"
)
_JAPANESE_REASON: Final = "(?:ので|ですが|ましたが|ますが|ないが)"
# No topic and no subject, but for that of a clause which belongs to a noun.
_JAPANESE_OWN: Final = (
    "(?:[^はがばと。、時際]|が[^はがばを、。]*(?:いる|いた|ない|ある|した|った|れた|する|なる|える)"
    "|と(?:の|も|して|同じ|同様)|では?なく|または)*"
)
_JAPANESE_DOES: Final = (
    rf"{_JAPANESE_OWN}(?:を|へ|に|から|も|だけ){_JAPANESE_OWN}"
    "[^れらせでなあ思言待願](?:し|き|み|り|ち|い|げ|け|え|め|べ|て|せ|ぎ)ます(?:ね)?[。:…]*$"
)
JAPANESE: Final = Language(
    script=KANA,
    announces=rf"""
        (?:次に|次は|これから|今から|まず|まずは|では|それでは|続いて|続けて|引き続き
        |さっそく)[^。]{{0,60}}(?:{_JAPANESE_ACT}(?:を)?(?:します|する|いたします|していきます
        |してみます|していく|するで|するわ|しよか)|見てみます|見ていきます|直します|調べます
        |開きます|読みます|書きます|進めます|進みます|始めます|移ります), {_JAPANESE_ACT}(?:を)?
        (?:してみます|していきます|していくで|するで|するわ|しましょう|してみましょう), (?:次は
        |あとは|残りは)[^。]{{1,30}}(?:です|だけです|のみです)。?$,
        (?:やり|直し|試し|調べ|見|続け|進め)ます(?:ね|よ)?。?$, (?:見て|直して|調べて|開いて|読んで
        |書いて|進めて|試して|やって|して|続けて)(?:みます|いきます|みましょう|いきましょう), ^(?:
        (?:[^。、]{{0,12}}、)?{_JAPANESE_LEAD}|[^。]*{_JAPANESE_REASON})、?
        (?:{_JAPANESE_OWN}[てでしきみりいえけめ]、)*{_JAPANESE_DOES},
        [てで]、[^はがばと時際]{{0,20}}{_JAPANESE_ACT}します。?$, ^[^はがばと時際]{{0,60}}(?:に|へ)
        (?:進み|移り|取り掛かり|取りかかり)ます[。:]?$, ^[^はがばと時際]{{0,60}}(?:を
        |から){_JAPANESE_ACT}(?:します|いたします)[。:]?$
    """,
    ends=r"""
        提出(?:します|する|いたします), 終了(?:します|する|いたします), 終わります, 完了とします,
        まとめます, 要約
    """,
    denies=r"""
        説明します, 待ちます, 待って, ません[。]?$, ました[。!！]?$, 自動, に従って, (?:し|っ)たら,
        まとめて, (?:返し|示し|表し|表示し|出力し|取得し|受け取り|受け付け|送信し|意味し|推奨し
        |提案し|報告し|案内し|感謝し|期待し|想定し|保持し|維持し|知らせし|勧めし|薦めし|失礼し
        |依存し|発生し|動作し|機能し|存在し|対応してい|必要とし|前提とし|してい|れてい|がかかり|思い
        |なり|でき|あり|ござい|図り|防ぎ|含み|従い|なくし|可能にし|伝えし)ます, (?:承認|確認|回答
        |許可|返信|合意|指示|了承|返答|OK|ok)(?:の)?(?:後|次第|が(?:取|得|で)|を(?:得|受け|いただ
        |頂)), いただい?(?:け|て), 頂(?:け|い), 場合, いつでも, ユーザー, により, によって, これで,
        つまり, 例えば, たとえば, その結果, 毎回, 常に, 必ず, ごとに, 毎日, 今後, 使い方, の中で,
        内で
    """,
    requests=r"""
        ください, でしょうか, ますか, ですか, ええか, 教えて, お願いします, 指示し, 言うて, 言って,
        何を, てくれ, いただけますか, 下さい, お願いいたします, 知らせて
    """,
    offers=r"""
        場合は, よければ, よろしければ, できます, 可能です, 必要があれば, ご希望
    """,
    awaits=r"""
        お待ちし(?:て|ます), ご連絡を待, 返信を待, 待っています, 待ってます
    """,
    runs=r"""
        バックグラウンドで(?:実行|動作|ビルド|稼働|動いて|走って|動かして|走らせて|回して),
        (?:実行中|ビルド中|処理中)です, まだ(?:実行|動作|ビルド)中,
        (?:完了|終了|終わる)(?:する)?(?:の)?(?:を|まで)待ち
    """,
    bound=r"""
        たら, 次第, 後, 終わ, 完了, 待って
    """,
    left=rf"""
        まだ[^。]*(?:ていません|ていない|未着手|残っています|残っている)[。]?$,
        未(?:着手|完了|対応|実装)(?:です|である|:), 残り(?:の作業|のタスク|作業|タスク)?は[^。]+
        (?:です|である|のみ)。?$, (?:これから|今後)(?:{_JAPANESE_ACT})が必要
    """,
    notes=rf"""
        (?:ため|ので)、?{_JAPANESE_ACT}します[。:…]*$, ^(?:[^。]*(?:ため|上で|うえで|ことから)、?)?
        (?:{_JAPANESE_OWN}[てでしきみりいえけめ]、)*{_JAPANESE_DOES}, ^(?:{_JAPANESE_LEAD}、?|[^。]*
        (?:{_JAPANESE_REASON}|ため)、?)*(?:{_JAPANESE_OWN}[てでしきみりいえけめ]、)*{_JAPANESE_OWN}
        (?:を|へ|に|から|も){_JAPANESE_OWN}(?:{_JAPANESE_ACT}(?:する|していく|してみる)|直す|調べる
        |見る|書く|進める|始める|探す|変える|移す|消す|置き換える|切り替える|洗い出す|試す|開く|読む
        |足す)[。:…]*$, (?:作成|修正|調査|確認|実装|更新|追加|分析|検証|対応|準備)中です[。…]*$
    """,
    patience=r"""
        (?:少々|しばらく|少し)?お待ち(?:ください|下さい)
    """,
    remarks=r"""
        ^(?:これ|この|それ|その|まず|次に|完了|終わ|特に|具体的|あわせて|併せて)
    """,
)
_KOREAN_ACT: Final = one_of("""
    실행, 확인, 수정, 추가, 생성, 업데이트, 조사, 검색, 테스트, 구현, 설치, 변경, 삭제, 시작, 진행,
    분석, 검토, 점검, 작성, 빌드, 적용, 처리, 이동, 계속, 재실행, 검증, 리팩터링, 리팩토링, 제거,
    교체, 정리, 반영, 조정, 개선, 보완, 연결, 등록, 설정, 통합, 분리, 추출, 커밋, 푸시, 배포, 복구,
    초기화, 비교, 파악, 조회, 탐색, 전환, 이어, 마이그레이션, 업그레이드
""")
KOREAN: Final = Language(
    script=HANGUL,
    announces=rf"""
        (?:하|보|치|꾸|기|들|우|리|쓰|찾|가|열|놓|두|넣|이|추|내|오|르|키|지|붙이|잡|나
        |드리)겠습니다[.:!…]*$, (?:할|볼|칠|꿀|길|들|울|릴|쓸|찾을|갈|열|놓을|둘|넣을|출|낼|올|킬
        |붙일|잡을|드릴)(?:게요|께요)[.:!…]*$, {_KOREAN_ACT}(?:을|를)? ?(?:하겠습니다|해 ?보겠습니다
        |할게요|해볼게요|하도록 하겠습니다|해 나가겠습니다), 차례입니다, 남았습니다, (?:할|볼|칠|꿀
        |릴|쓸|낼) 예정입니다[.]?$, ^다음은 [^.]{{1,30}}입니다, 합니다 지금, (?:해|부터|어
        |아) ?봅시다, 하죠[.:]?$
    """,
    ends=r"""
        제출, 마치겠습니다, 마무리, 종료하겠, 끝내, 요약
    """,
    denies=r"""
        설명, 기다리, 않(?:습|겠|을|아|았), 감사, 도와드리, 도와 드리, 알려드리, 말씀드리, 안내,
        좋겠습니다, 모르겠습니다, 알겠습니다, 되겠습니다, 앞으로, 답변하겠, 추천, 제안, 권장,
        자동으로, 참고하겠
    """,
    requests=r"""
        해 ?주세요, 알려, 습니까, 할까요, 하시겠, 하세요, 주시면, 말씀해, 시면[\x20\x2c], 셔야,
        까요[.]?$, 부탁
    """,
    offers=r"""
        원하시면, 필요하시면, 수 있습니다, 원하면, 필요하면, 승인(?:되면|하시면| 후),
        확인(?:되면| 후), 결정(?:되면| 후), 답변 후
    """,
    awaits=r"""
        기다리겠습니다, 기다릴게요, 답변을 기다, 기다리고 있습니다
    """,
    runs=r"""
        백그라운드에서 (?:계속 )?(?:실행|빌드|진행|동작|돌아|돌려), 아직 (?:실행|빌드|진행) 중,
        (?:실행|빌드) 중입니다, (?:끝날|완료될|종료될) 때까지
    """,
    bound=r"""
        (?:나|되|료되|오|치|리)면, 후, 때, 즉시, 대로
    """,
    left=rf"""
        남아 ?있습니다[.]?$, 아직 [^.]*(?:않았습니다|못했습니다|안 했습니다|남았),
        남은 (?:작업|단계|할 일|항목|파일)(?:은|:), {_KOREAN_ACT}(?:이|가|도|만)? ?(?:더 )?남았
    """,
    notes=rf"""
        {_KOREAN_ACT}(?:을|를)? ?합니다[.:…]*$,
        (?:하|되|지)도록 (?:합니다|수정|변경|조정|설정)[^.]*[.:…]*$, (?:고칩니다|바꿉니다|옮깁니다
        |찾습니다|살펴봅니다|만듭니다|지웁니다|넣습니다|붙입니다|줄입니다|늘립니다|맞춥니다)[.:…]*$,
        (?:{_KOREAN_ACT}|준비) ?중입니다[.:…]*$, {_KOREAN_ACT}(?:을|를)? ?(?:해요|한다)[.:…]*$
    """,
    tells=r"""
        (?:스크립트|서버|함수|시스템|클라이언트|미들웨어|컴포넌트|훅|명령|스케줄러|앱|브라우저|엔진
        |모듈|서비스|프로그램|도구|code)(?:이|가)\x20,
        ^[^,.]{0,30}[^서에로하되있없같남않,. ][은는]\x20, 면\x20, 때\x20, ^(?:[^ ,.]+ )?[^ ,.]+(?:이
        |가) (?:[^ .]*[^는은한된난진던 .] )*[^ .]*[^록 .]합니다[.]?$,
        [은는] [^.]*(?:필요|사용)합니다, 해야 합니다, 다음 명령, 다음과 같, (?:유지|지원|제공|포함
        |반환|표시|전송|동작|작동|호출|허용|의미|방지)합니다, 후에는, 합니다만
    """,
    patience=r"""
        (?:잠시만?|조금만?) (?:기다려|기다리)
    """,
    remarks=r"""
        ^(?:이렇게|이를|이는|이후|그러면|그다음|완료되면|특히|먼저)
    """,
)
